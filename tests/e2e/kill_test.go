package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
)

// killEvery is the number of edits between two kills.
const killEvery = 500

// TestKilledServers makes 5,000 edits while both database servers are killed
// again and again, and compares the contents with what another northd derives
// from scratch. It takes the better part of a minute, as servers that die often are
// started again with growing pauses.
func TestKilledServers(t *testing.T) {
	dbs, dir := databases(t)
	daemon(t, dbs.NB(), dbs.SB())
	e := newEditor(t, dbs.NB())

	kills := 0
	edit5000(t, e, func(i int) {
		if i%killEvery == killEvery/2 && kill(filepath.Join(dir, []string{"nb.db", "sb.db"}[i/killEvery%2])) {
			kills++
		}
	})
	if kills < 5 {
		t.Fatalf("only %d servers were killed", kills)
	}
	e.sync()
	t.Logf("%d edits, %d kills", 5000, kills)

	scratch, _ := databases(t)
	daemon(t, dbs.NB(), scratch.SB())
	want := scratchContents(t, e, scratch.SB())
	if diff := cmp.Diff(want, contents(t, dbs.SB())); diff != "" {
		t.Errorf("contents (-scratch +kept):\n%s", diff)
	}
}

// scratchContents waits until the second northd's database has as many rows as
// it will get, and returns them.
func scratchContents(t *testing.T, e *editor, remote string) []string {
	var last []string
	until(t, "the northd that starts from scratch", func() bool {
		now := contents(t, remote)
		done := len(now) > 100 && cmp.Equal(last, now)
		last = now
		return done
	})
	return last
}

// kill ends the server of a database file, as kill -9 does.
func kill(file string) bool {
	out, err := exec.Command("pgrep", "-f", "^ovsdb-server.*"+file).Output()
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(out), "\n", 2)[0]))
	return err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// edit5000 makes random edits of switches, ports, ACLs and groups. Each can be
// sent twice without harm. before is called before each.
func edit5000(t *testing.T, e *editor, before func(i int)) {
	r := rand.New(rand.NewPCG(7, 7))
	type object struct{ uuid, parent, name string }
	var switches, ports, acls []object
	pg := ovsdb.NewUUID()
	e.sure(func(txn *ovsdb.Txn) { txn.Insert("Port_Group", pg).String("name", "pg") })
	for i := range 5000 {
		before(i)
		id := ovsdb.NewUUID()
		name := fmt.Sprintf("x%d", i)
		switch k := r.IntN(20); {
		case len(switches) < 3 || k == 0 && len(switches) < 20:
			e.sure(func(txn *ovsdb.Txn) { txn.Insert("Logical_Switch", id).String("name", name) })
			switches = append(switches, object{uuid: id, name: name})
		case k < 7 || len(ports) == 0:
			ls := switches[r.IntN(len(switches))]
			e.sure(func(txn *ovsdb.Txn) {
				c := txn.Insert("Logical_Switch_Port", id)
				c.String("name", name)
				c.String("addresses", fmt.Sprintf("50:54:00:00:%02x:%02x 10.0.%d.%d", i>>8, i&255, i>>8, i&255))
				txn.Mutate("Logical_Switch", ls.uuid).InsertUUIDs("ports", []string{id})
			})
			ports = append(ports, object{id, ls.uuid, name})
		case k < 11:
			ls := switches[r.IntN(len(switches))]
			verb := []string{"allow", "allow-related", "allow-stateless", "drop", "reject", "pass"}[r.IntN(6)]
			e.sure(func(txn *ovsdb.Txn) {
				c := txn.Insert("ACL", id)
				c.String("direction", []string{"to-lport", "from-lport"}[i%2])
				c.Int("priority", r.IntN(100))
				c.String("match", fmt.Sprintf("tcp.dst == %d", i))
				c.String("action", verb)
				txn.Mutate("Logical_Switch", ls.uuid).InsertUUIDs("acls", []string{id})
			})
			acls = append(acls, object{id, ls.uuid, name})
		case k < 13 && len(acls) > 0:
			a := acls[r.IntN(len(acls))]
			e.sure(func(txn *ovsdb.Txn) { txn.Update("ACL", a.uuid).Int("tier", r.IntN(4)) })
		case k < 15 && len(acls) > 5:
			n := r.IntN(len(acls))
			a := acls[n]
			acls = append(acls[:n], acls[n+1:]...)
			e.sure(func(txn *ovsdb.Txn) { txn.Mutate("Logical_Switch", a.parent).DeleteUUIDs("acls", []string{a.uuid}) })
		case k < 17:
			p := ports[r.IntN(len(ports))]
			e.sure(func(txn *ovsdb.Txn) { txn.Mutate("Port_Group", pg).InsertUUIDs("ports", []string{p.uuid}) })
		case k < 19 && len(ports) > 10:
			n := r.IntN(len(ports))
			p := ports[n]
			ports = append(ports[:n], ports[n+1:]...)
			e.sure(func(txn *ovsdb.Txn) { txn.Mutate("Logical_Switch", p.parent).DeleteUUIDs("ports", []string{p.uuid}) })
		default:
			p := ports[r.IntN(len(ports))]
			e.sure(func(txn *ovsdb.Txn) { txn.Update("Logical_Switch_Port", p.uuid).Bool("enabled", r.IntN(2) == 0) })
		}
	}
}
