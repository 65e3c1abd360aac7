package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"northwall/ovsdb"
	"northwall/schema"
	"northwall/schema/sbctl"
)

// flowsCommand prints logical flows; its options may stand before its name, as
// those of other commands, or after it.
func flowsCommand() *cli.Command {
	return &cli.Command{
		Name: "flows", Aliases: []string{"lflow-list", "dump-flows"}, Category: "Southbound commands",
		Usage: "print the logical flows of a switch or router, or all", ArgsUsage: "[DATAPATH [FLOW-UUID]...]",
		Description: "Reads the southbound database (--sb-db, OVN_SB_DB).\n\nExample:\n  nwctl --uuid --stage=ls_in_acl_eval flows sw0",
		Flags:       flowsFlags(),
		Action:      flows,
	}
}

func flowsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "uuid", Usage: "print the start of each flow's UUID"},
		&cli.StringFlag{Name: "pipeline", Usage: "only this `PIPELINE`: ingress or egress"},
		&cli.StringFlag{Name: "stage", Usage: "only this `STAGE`: a table's number or name, such as ls_in_acl_eval"},
		&cli.IntFlag{Name: "priority", Usage: "only this `PRIORITY`"},
		&cli.StringFlag{Name: "match", Usage: "only flows whose match contains `TEXT`"},
	}
}

func flowOptionTakesValue(name string) bool {
	return slices.ContainsFunc(flowsFlags(), func(f cli.Flag) bool {
		_, isBool := f.(*cli.BoolFlag)
		return !isBool && slices.Contains(f.Names(), name)
	})
}

func flows(c *cli.Context) error {
	filter := sbctl.Filter{
		Datapath: c.Args().First(), UUIDs: c.Args().Tail(),
		Pipeline: c.String("pipeline"), Stage: c.String("stage"), Match: c.String("match"), ShowUUID: c.Bool("uuid"),
	}
	if c.IsSet("priority") {
		priority := c.Int("priority")
		filter.Priority = &priority
	}
	ctx, cancel, err := deadline(c)
	if err != nil {
		return err
	}
	defer cancel()
	client, err := connect(ctx, c, "OVN_Southbound", c.String("sb-db"), sbctl.Tables(schema.Southbound()))
	if err != nil {
		return err
	}
	defer client.Close()
	batch, err := initial(ctx, client)
	if err != nil {
		return err
	}
	return sbctl.Flows(c.App.Writer, batch, filter)
}

// initial waits for the first batch, which is the whole database.
func initial(ctx context.Context, conn ovsdb.Conn) (*ovsdb.Batch, error) {
	for {
		if batch := conn.Take(); batch != nil {
			return batch, nil
		}
		select {
		case <-conn.Ready():
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the contents of the database: %w", context.Cause(ctx))
		}
	}
}
