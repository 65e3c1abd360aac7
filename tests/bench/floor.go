package main

import (
	"context"
	"strconv"

	"northwall/ovsdb"
	"northwall/schema"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// floorCommand makes this program the floor: a northd that computes nothing. To
// each new nb_cfg it answers with one small southbound transaction and then
// sb_cfg, so what an edit takes with it is the two databases' time and the
// clock's.
const floorCommand = "floor"

// numbers are the northbound configuration numbers, and the row that has them.
type numbers struct {
	*ovsdb.Client
	row          string // UUID of the row of NB_Global
	nbCfg, sbCfg int
}

func runFloor(ctx context.Context, nbSocket, sbSocket string) error {
	north, err := openNumbers(ctx, nbSocket)
	if err != nil {
		return err
	}
	defer north.Close()
	south, err := ovsdb.Open(ovsdb.Options{
		Database: "OVN_Southbound", Remotes: []string{"unix:" + sbSocket},
		Tables: []*ovsdb.Table{ovsdb.TableOf[sb.SBGlobal](schema.Southbound(), "SB_Global", "nb_cfg")},
	})
	if err != nil {
		return err
	}
	defer south.Close()
	if err := south.WaitConnected(ctx); err != nil {
		return err
	}
	global := ""
	ovsdb.Each(south.Take(), "SB_Global", func(uuid string, _, _ *sb.SBGlobal) { global = uuid })
	for {
		north.take()
		if n := north.nbCfg; n != north.sbCfg {
			txn := south.NewTxn()
			txn.Update("SB_Global", global).Int("nb_cfg", n)
			flow := txn.Insert("Logical_Flow", ovsdb.NewUUID())
			flow.String("pipeline", "ingress")
			flow.Int("table_id", 0)
			flow.Int("priority", 0)
			flow.String("match", strconv.Itoa(n))
			flow.String("actions", "next;")
			if _, err := south.Transact(ctx, txn); err != nil {
				return err
			}
			txn = north.NewTxn()
			txn.Update("NB_Global", north.row).Int("sb_cfg", n)
			if _, err := north.Transact(ctx, txn); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-north.Ready():
		}
	}
}

// openNumbers connects to a northbound database for its configuration numbers.
func openNumbers(ctx context.Context, socket string) (*numbers, error) {
	c, err := ovsdb.Open(ovsdb.Options{
		Database: "OVN_Northbound", Remotes: []string{"unix:" + socket},
		Tables: []*ovsdb.Table{ovsdb.TableOf[nb.NBGlobal](schema.Northbound(), "NB_Global", "nb_cfg", "sb_cfg")},
	})
	if err != nil {
		return nil, err
	}
	if err := c.WaitConnected(ctx); err != nil {
		c.Close()
		return nil, err
	}
	n := &numbers{Client: c}
	n.take()
	return n, nil
}

// take takes what the database has told.
func (n *numbers) take() {
	b := n.Take()
	if b == nil {
		return
	}
	ovsdb.Each(b, "NB_Global", func(uuid string, _, g *nb.NBGlobal) {
		if g != nil {
			n.row, n.nbCfg, n.sbCfg = uuid, g.NbCfg, g.SbCfg
		}
	})
}
