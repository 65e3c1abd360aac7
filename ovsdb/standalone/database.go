package standalone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"northwall/ovsdb/unixctl"
)

// database is one of the two.
type database struct {
	short   string // "nb": what its files are called
	name    string // "OVN_Northbound"
	version string // of schema
	schema  []byte
	global  string   // the table of one row, whose column connections says where to listen
	remotes []string // further addresses to listen on
	dir     string
	log     *zap.Logger
}

func (db *database) path(ext string) string { return filepath.Join(db.dir, db.short+ext) }

// prepare makes the database file, or brings an older one up to the schema. A
// newer one is served as it is: converting it would lose what it has more.
func (db *database) prepare(ctx context.Context) error {
	schemaFile := db.path(".ovsschema")
	if err := os.WriteFile(schemaFile, db.schema, 0o644); err != nil {
		return err
	}
	file := db.path(".db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return db.create(ctx, schemaFile)
	} else if err != nil {
		return err
	}
	name, err := tool(ctx, "db-name", file)
	if err != nil {
		return fmt.Errorf("%s is damaged, or no database: %w", file, err)
	}
	if name != db.name {
		return fmt.Errorf("%s holds the database %s, not %s", file, name, db.name)
	}
	have, err := tool(ctx, "db-version", file)
	if err != nil {
		return err
	}
	older, err := isOlder(have, db.version)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case older:
		db.log.Info("converting the database to the current schema", zap.String("file", file), zap.String("from", have), zap.String("to", db.version))
		_, err = tool(ctx, "convert", file, schemaFile)
		return err
	case have != db.version:
		db.log.Warn("the database has a newer schema than this program knows", zap.String("file", file), zap.String("schema", have), zap.String("known", db.version))
	}
	return nil
}

// create makes the database file. It gets its name once it is whole: ovsdb-tool
// may be stopped halfway, and no later start could use what it leaves.
//
// The one row of the global table is in it from the start. Every northd and every
// ovn-nbctl inserts that where it misses it, and of two that do so at once the
// second is refused.
func (db *database) create(ctx context.Context, schemaFile string) error {
	unfinished := db.path(".db.new")
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := tool(ctx, "create", unfinished, schemaFile); err != nil {
		return err
	}
	if err := db.insertGlobal(ctx, unfinished); err != nil {
		return err
	}
	// The lock goes with the name; ovsdb-server makes one for the new name.
	if err := os.Remove(filepath.Join(db.dir, "."+filepath.Base(unfinished)+".~lock~")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(unfinished, db.path(".db"))
}

// insertGlobal inserts the row of the global table, all columns at their defaults.
func (db *database) insertGlobal(ctx context.Context, file string) error {
	out, err := tool(ctx, "transact", file, fmt.Sprintf(`[%q,{"op":"insert","table":%q,"row":{}}]`, db.name, db.global))
	if err != nil {
		return err
	}
	// What the database refuses is no error to ovsdb-tool: the results say so.
	var results []struct{ Error, Details string }
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		return fmt.Errorf("%s: inserting the row of %s: result %q: %w", file, db.global, out, err)
	}
	for _, r := range results {
		if r.Error != "" {
			return fmt.Errorf("%s: inserting the row of %s: %s: %s", file, db.global, r.Error, r.Details)
		}
	}
	return nil
}

// isOlder compares versions of the form X.Y.Z.
func isOlder(a, b string) (bool, error) {
	av, err := parseVersion(a)
	if err != nil {
		return false, err
	}
	bv, err := parseVersion(b)
	return slices.Compare(av[:], bv[:]) < 0, err
}

func parseVersion(s string) (v [3]int, err error) {
	if _, err := fmt.Sscanf(s, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return v, fmt.Errorf("schema version %q: want X.Y.Z", s)
	}
	return v, nil
}

// tool runs ovsdb-tool and returns what it printed.
func tool(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "ovsdb-tool", args...).Output()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // and not that the tool was killed, which it was for that
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = errors.New(strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("ovsdb-tool %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// ovsdb-server compacts a file by itself once it has grown fourfold; a quiet
// database that was busy before is compacted here, at the start and every
// compactEvery, if it is larger than compactAbove bytes.
const (
	compactEvery = 10 * time.Minute
	compactAbove = 1 << 20
)

func (db *database) compactPeriodically(ctx context.Context) {
	for {
		if fi, err := os.Stat(db.path(".db")); err == nil && fi.Size() > compactAbove {
			if _, err := unixctl.Call(ctx, db.path(".ctl"), "ovsdb-server/compact"); err != nil && ctx.Err() == nil {
				db.log.Warn("compacting", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(compactEvery):
		}
	}
}
