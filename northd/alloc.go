package northd

// keyPool hands out numbers from 1 up, each to one holder. What has been handed
// out is remembered until it is released, so that the answer for a holder
// stays what it was.
type keyPool struct {
	holder map[int]string
	key    map[string]int
	next   int // the search for a free one begins above
}

func newKeyPool() *keyPool { return &keyPool{holder: map[int]string{}, key: map[string]int{}} }

// take records that who holds key, if it is free.
func (p *keyPool) take(who string, key int) bool {
	if h, ok := p.holder[key]; ok {
		return h == who
	}
	p.release(who)
	p.holder[key], p.key[who] = who, key
	return true
}

// evict gives key to who, and returns who has lost it, if anybody.
func (p *keyPool) evict(who string, key int) (loser string) {
	if h, ok := p.holder[key]; ok && h != who {
		p.release(h)
		loser = h
	}
	p.take(who, key)
	return loser
}

// has returns the key that who has, if it is at most max and ok holds for it, or
// else 0.
func (p *keyPool) has(who string, max int, ok func(int) bool) int {
	if k := p.key[who]; k <= max && ok(k) {
		return k
	}
	return 0
}

// get returns who's key: the one that it has, else a free one between 1 and max
// for which ok holds; 0 where there is none. The search begins above the
// highest key noted.
func (p *keyPool) get(who string, max int, ok func(int) bool) int {
	if k := p.has(who, max, ok); k != 0 {
		return k
	}
	for i := range max {
		k := (p.next+i)%max + 1
		if _, taken := p.holder[k]; !taken && ok(k) {
			p.take(who, k)
			return k
		}
	}
	return 0
}

// note makes searches begin above key, so that a key that was given up is not
// given out again soon.
func (p *keyPool) note(key int) {
	if key > p.next {
		p.next = key
	}
}

func (p *keyPool) release(who string) {
	if k, ok := p.key[who]; ok {
		delete(p.key, who)
		delete(p.holder, k)
	}
}

// portPools holds the pool of each datapath.
type portPools map[string]*keyPool

func (p portPools) of(datapath string) *keyPool {
	pool, ok := p[datapath]
	if !ok {
		pool = newKeyPool()
		p[datapath] = pool
	}
	return pool
}
