package memdb_test

import (
	"fmt"
	"testing"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// filled returns a database of n rows, and a connection that has them.
func filled(b *testing.B, n int) (*memdb.DB, *memdb.Conn) {
	b.Helper()
	db := newDB(b)
	c := db.Connect(rootTable(b))
	txn := c.NewTxn()
	for i := range n {
		txn.Insert("Root", u(i+1)).String("name", fmt.Sprintf("row %d", i))
	}
	group := txn.Insert("Group", u(n+1))
	members := make([]string, n/10)
	for i := range members {
		members[i] = u(i + 1)
	}
	group.UUIDs("members", members)
	if _, err := c.Send(txn).Result(); err != nil {
		b.Fatal(err)
	}
	c.Take()
	return db, c
}

// BenchmarkEdit times one transaction on one of 100,000 rows and its delivery,
// which must not depend on their number.
func BenchmarkEdit(b *testing.B) {
	for _, rows := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			_, c := filled(b, rows)
			for i := 0; b.Loop(); i++ {
				txn := ovsdb.NewTxn()
				txn.Update("Root", u(1+i%rows)).Int("num", i%100)
				if _, err := c.Send(txn).Result(); err != nil {
					b.Fatal(err)
				}
				c.Take()
			}
		})
	}
}

// BenchmarkWeak times a change to a set of 10,000 weak references.
func BenchmarkWeak(b *testing.B) {
	const rows = 100000
	_, c := filled(b, rows)
	for i := 0; b.Loop(); i++ {
		txn := ovsdb.NewTxn()
		muts := txn.Mutate("Group", u(rows+1))
		if i%2 == 0 {
			muts.InsertUUIDs("members", []string{u(rows)})
		} else {
			muts.DeleteUUIDs("members", []string{u(rows)})
		}
		if _, err := c.Send(txn).Result(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFill times 100,000 inserts in one transaction, with delivery.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		filled(b, 100000)
	}
}
