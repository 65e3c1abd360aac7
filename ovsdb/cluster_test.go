package ovsdb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"northwall/ovsdb"
)

// newCluster starts a clustered database of three servers.
func newCluster(t testing.TB) []*server {
	t.Helper()
	needServer(t)
	var members []*server
	for i := range 3 {
		s := &server{t: t, dir: shortDir(t)}
		local := "unix:" + s.path("raft")
		if i == 0 {
			if err := os.WriteFile(s.path("schema"), testSchemaJSON, 0o600); err != nil {
				t.Fatal(err)
			}
			tool(t, "ovsdb-tool", "--election-timer=1000", "create-cluster", s.path("db"), s.path("schema"), local)
		} else {
			tool(t, "ovsdb-tool", "join-cluster", s.path("db"), "Test", local, "unix:"+members[0].path("raft"))
		}
		s.start()
		t.Cleanup(s.kill)
		members = append(members, s)
		// The cluster accepts one member after another.
		tool(t, "ovsdb-client", "-t20", "wait", s.remote(), "Test", "connected")
	}
	return members
}

// TestCluster follows the leader of a cluster from one member to the next while
// edits are made, and never goes back in time. It takes the seconds that the
// members need to notice that their leader is gone.
func TestCluster(t *testing.T) {
	t.Parallel()
	members := newCluster(t)
	var remotes []string
	byRemote := map[string]*server{}
	for _, s := range members {
		remotes = append(remotes, s.remote())
		byRemote[s.remote()] = s
	}
	leader := connected(t, ovsdb.Options{Remotes: remotes, LeaderOnly: true, Tables: thingsLast(t)})
	if got := leader.Status().Remote; got != remotes[0] {
		t.Errorf("got %s, want the member that made the cluster, %s", got, remotes[0])
	}
	// Followers serve those who do not insist.
	anyone := connected(t, ovsdb.Options{Remotes: remotes[2:], Tables: testTables(t)})
	k := newCopy(t, leader)
	const id = "00000000-0000-4000-8000-000000000004"
	transact(t, leader, func(txn *ovsdb.Txn) {
		txn.Insert("Thing", id)
		for i := range 100 {
			txn.Insert("Thing", ovsdb.NewUUID()).Int("n", -i)
		}
	})
	k.takeAll()

	last := 0
	follow := func(b *ovsdb.Batch) {
		if b == nil {
			return
		}
		ovsdb.Each(b, "Thing", func(uuid string, old, new *thing) {
			if uuid != id || new == nil {
				return
			}
			if new.N < last {
				t.Errorf("n went back from %d to %d", last, new.N)
			}
			last = new.N
		})
	}
	edit := func(n int) {
		t.Helper()
		until(t, "an edit", func() bool {
			follow(k.take())
			txn := leader.NewTxn()
			txn.Update("Thing", id).Int("n", n)
			_, err := answer(t, leader.Send(txn))
			var refused *ovsdb.TxnError
			return err == nil || errors.As(err, &refused) && refused.Kind == "ovsdb error"
		})
	}
	for i := range 50 {
		edit(i + 1)
	}
	byRemote[leader.Status().Remote].kill()
	for i := range 50 {
		edit(i + 51)
	}
	until(t, "the last edit", func() bool { follow(k.take()); return last == 100 })
	if got := leader.Status().Remote; got == remotes[0] {
		t.Error("still connected to the member that was killed")
	}
	// What the new leader was asked for is what it had not sent yet.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := anyone.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
	k.check(leader.Status().Remote)
}

// TestFollowerRefused: a client that wants the leader says that it got none.
func TestFollowerRefused(t *testing.T) {
	t.Parallel()
	members := newCluster(t)
	openClients.Add(1)
	c := open(t, quick(ovsdb.Options{Remotes: []string{members[1].remote()}, LeaderOnly: true}))
	until(t, "an attempt", func() bool { return c.Status().Err != nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.WaitConnected(ctx)
	if err == nil {
		t.Fatal("connected to a follower")
	}
	if got := fmt.Sprint(err); !containsAll(got, members[1].remote(), "lead") {
		t.Errorf("got error %q, want the address and that it is not the leader", got)
	}
}
