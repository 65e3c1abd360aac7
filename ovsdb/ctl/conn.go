package ctl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// Tables declares what a connection must monitor for the reads; a column that
// is in none of them is not transferred.
func Tables(reads []Read) []*ovsdb.Table {
	merged := mergeReads(reads)
	var out []*ovsdb.Table
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		out = append(out, ovsdb.DynamicTable(name, merged[name]...))
	}
	return out
}

// mergeReads gives each table once, with the union of its columns.
func mergeReads(reads []Read) map[string][]string {
	merged := map[string][]string{}
	for _, r := range reads {
		columns, known := merged[r.Table]
		switch {
		case r.Columns == nil || known && columns == nil:
			merged[r.Table] = nil
		default:
			if !known {
				columns = []string{}
			}
			for _, c := range r.Columns {
				if c != "_uuid" && !slices.Contains(columns, c) {
					columns = append(columns, c)
				}
			}
			merged[r.Table] = columns
		}
	}
	return merged
}

// connDB is a DB over a connection that monitors dynamic tables.
type connDB struct {
	conn    ovsdb.Conn
	schema  func() *libovsdb.DatabaseSchema
	tables  map[string]map[string]*ovsdb.Row
	version uint64 // 0 until the first batch has arrived
}

// New returns the database at the other end of conn, whose tables must be
// dynamic ones (see Tables). It takes the connection's batches from here on.
// schema is asked after the first batch, so that it can be the server's.
func New(conn ovsdb.Conn, schema func() *libovsdb.DatabaseSchema) DB {
	return &connDB{conn: conn, schema: schema, tables: map[string]map[string]*ovsdb.Row{}}
}

func (d *connDB) Schema() *libovsdb.DatabaseSchema { return d.schema() }

func (d *connDB) Snapshot(ctx context.Context) (Snapshot, error) {
	if err := d.wait(ctx, 0); err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Tables: d.tables, Version: d.version}, nil
}

func (d *connDB) Changed(ctx context.Context, s Snapshot) error { return d.wait(ctx, s.Version) }

// wait takes batches in until the version is past since.
func (d *connDB) wait(ctx context.Context, since uint64) error {
	for {
		for b := range ovsdb.Batches(d.conn) {
			d.apply(b)
		}
		if d.version > since {
			return nil
		}
		select {
		case <-d.conn.Ready():
		case <-ctx.Done():
			if s := d.conn.Status(); !s.Connected && s.Err != nil {
				return fmt.Errorf("%s: database connection failed (%w)", s.Remote, s.Err)
			}
			return context.Cause(ctx)
		}
	}
}

func (d *connDB) apply(b *ovsdb.Batch) {
	if b.Initial {
		// All of the database follows; what is here is from before.
		clear(d.tables)
	}
	for table, changes := range b.Changes {
		rows := d.tables[table]
		if rows == nil {
			rows = map[string]*ovsdb.Row{}
			d.tables[table] = rows
		}
		for _, c := range changes {
			if row, ok := c.New.(*ovsdb.Row); ok && row != nil {
				rows[c.UUID] = row
			} else {
				delete(rows, c.UUID)
			}
		}
	}
	d.version++
}

func (d *connDB) Commit(ctx context.Context, t *ovsdb.Txn) ([]ovsdb.Result, error) {
	call := d.conn.Send(t)
	select {
	case <-call.Done():
		return call.Result()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
