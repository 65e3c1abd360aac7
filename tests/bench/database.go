package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"northwall/ovsdb/unixctl"
	"northwall/schema"
)

// database is an ovsdb-server with one database in a directory.
type database struct {
	dir, short, global string
	schema             []byte
	server             *process
}

func newDatabases(dir string) (nb, sb *database) {
	return &database{dir: dir, short: "nb", global: `["OVN_Northbound",{"op":"insert","table":"NB_Global","row":{}}]`, schema: schema.NorthboundJSON},
		&database{dir: dir, short: "sb", global: `["OVN_Southbound",{"op":"insert","table":"SB_Global","row":{}}]`, schema: schema.SouthboundJSON}
}

func (d *database) path(ext string) string { return filepath.Join(d.dir, d.short+ext) }

// start starts the server, on an empty database with fresh.
func (d *database) start(ctx context.Context, fresh bool) (err error) {
	if fresh {
		if err := d.create(ctx); err != nil {
			return err
		}
	}
	d.server, err = startProcess("", "ovsdb-server", "--no-chdir", "-vconsole:off", "-vsyslog:off",
		"--log-file="+d.path(".log"), "--unixctl="+d.path(".ctl"), "--remote=punix:"+d.path(".sock"), d.path(".db"))
	if err != nil {
		return err
	}
	return d.server.eventually(ctx, func() error {
		if _, err := unixctl.Call(ctx, d.path(".ctl"), "version"); err != nil {
			return err
		}
		_, err := os.Stat(d.path(".sock"))
		return err
	})
}

func (d *database) create(ctx context.Context) error {
	file, schemaFile := d.path(".db"), d.path(".ovsschema")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(schemaFile, d.schema, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"create", file, schemaFile}, {"transact", file, d.global}} {
		if out, err := exec.CommandContext(ctx, "ovsdb-tool", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ovsdb-tool %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

func (d *database) stop() {
	if d.server != nil {
		d.server.stop()
		d.server = nil
	}
}
