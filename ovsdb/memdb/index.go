package memdb

// An index keeps the values of some columns unique among a table's rows.
type index struct {
	columns []*column
	entries map[string]string // values to the UUID of the row that has them
}

func (ix *index) key(values []datum) string {
	return project(ix.columns, func(c *column) datum { return values[c.number] })
}

// An indexChange is what a transaction does to an index.
type indexChange struct {
	index   *index
	removed map[string]struct{}
	added   map[string]string
}

// changeIndexes checks that the indexes will still be unique and returns what
// becomes of them.
func (t *txn) changeIndexes() ([]indexChange, *failure) {
	var out []indexChange
	changed := map[*table][]*change{}
	var tables []*table
	for _, c := range t.order {
		if len(c.table.indexes) > 0 {
			if changed[c.table] == nil {
				tables = append(tables, c.table)
			}
			changed[c.table] = append(changed[c.table], c)
		}
	}
	for _, table := range tables {
		for _, ix := range table.indexes {
			ic := indexChange{ix, map[string]struct{}{}, map[string]string{}}
			touched := changed[table]
			for _, c := range touched {
				if c.old != nil {
					ic.removed[ix.key(c.old)] = struct{}{}
				}
			}
			for _, c := range touched {
				if c.new == nil {
					continue
				}
				key := ix.key(c.new)
				other, taken := ic.added[key]
				if !taken {
					if _, leaves := ic.removed[key]; !leaves {
						other, taken = ix.entries[key]
					}
				}
				if taken {
					names := ""
					for i, col := range ix.columns {
						if i > 0 {
							names += " and "
						}
						names += col.name
					}
					return nil, failf(constraintViolation,
						"Transaction causes multiple rows in %q table to have identical values (%q) for index on %s: rows %s and %s.",
						table.name, key, names, other, c.uuid)
				}
				ic.added[key] = c.uuid
			}
			out = append(out, ic)
		}
	}
	return out, nil
}

func (ic *indexChange) apply() {
	for key := range ic.removed {
		delete(ic.index.entries, key)
	}
	for key, uuid := range ic.added {
		ic.index.entries[key] = uuid
	}
}
