package oracle

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/tests/golden/sbdump"
)

// known is a difference that docs/differences.md lists. Take removes its rows
// from a difference and returns how many.
type known struct {
	name string
	take func(d *difference) int
}

// knownDifferences in the order in which they are looked for. Those of 26.03.1
// are such that the reference results, which are of 26.03.3, agree with us.
var knownDifferences = []known{
	{"26.03.1: ARP responder beside localnet ports without flags.localnet", func(d *difference) int {
		return pairs(dropFlagsLocalnet)(d) + takeStock(localnetPassesResponder)(d) + takeOurs(localnetMarks)(d)
	}},
	{"26.03.1: established, blocked connections are let through again before the last tier", pairs(dropTierGate)},
	{"26.03.1: samples of several collectors without a domain have flows of their own", takeStock(collectorsWithoutDomain)},
	{"samples without a domain: flows with empty actions in stock", takeStock(samplesNowhere)},
	{"an ACL with a network function group that is not allowed to have one: no flow in stock", takeVerdictsWithFunction},
	{"replies to an IPv6 address of a load balancer with an IPv4 hairpin_snat_ip: do not parse in stock", takePairs(hairpinOfIPv4)},
	{"a source of multicast queries that was removed: still there in stock", takePairs(queriesFromThePast)},
	{"a queue on a switch with several localnet ports: for another one in stock", takePairs(queuedElsewhere)},
	{"a service that several check with different options", sharedMonitors},
	{"stage-hint of a switch where switches with a virtual address share a flow", sharedBySwitches},
	{"stage-hint of one of several rows with the same flow", sharedHints},
}

// TakeKnown removes the differences that docs/differences.md lists from rows that
// stock has and we have not, and the reverse, as sbdump.HintedLines prints them
// for a northbound database. It returns what is left, and the rows taken by the
// name of a difference.
//
// Where a difference takes one datapath from the row of several, the rest of them
// has another row: what both sides have of such a row goes with it.
func TakeKnown(stock, ours []string, nb sbdump.Contents) (leftStock, leftOurs []string, hits map[string]int) {
	d := &difference{northbound: hintedRows(nb)}
	for _, l := range stock {
		d.Stock = append(d.Stock, perDatapath(l)...)
	}
	for _, l := range ours {
		d.Ours = append(d.Ours, perDatapath(l)...)
	}
	all := slices.Concat(d.Stock, d.Ours)
	hits = d.takeKnown()
	left := map[string]int{}
	for _, l := range slices.Concat(d.Stock, d.Ours) {
		left[withoutDatapath(l)]++
	}
	split := map[string]bool{} // rows of which some datapaths are taken
	for _, l := range all {
		if left[withoutDatapath(l)]--; left[withoutDatapath(l)] < 0 {
			split[withoutDatapath(l)] = true
		}
	}
	d.Stock = slices.DeleteFunc(d.Stock, func(l string) bool {
		i := slices.Index(d.Ours, l)
		if i < 0 || !split[withoutDatapath(l)] {
			return false
		}
		d.Ours = slices.Delete(d.Ours, i, i+1)
		return true
	})
	return d.Stock, d.Ours, hits
}

var datapath = regexp.MustCompile(` dps=\S+`)

func withoutDatapath(line string) string { return datapath.ReplaceAllString(line, "") }

// takeKnown removes known differences and returns how many rows, by their name.
func (d *difference) takeKnown() map[string]int {
	hits := map[string]int{}
	for _, k := range knownDifferences {
		if n := k.take(d); n > 0 {
			hits[k.name] = n
		}
	}
	return hits
}

// pairs takes a row of stock's with the row of ours that reduce turns into it.
// Their stage-hints may differ as in sharedHints.
func pairs(reduce func(row string) string) func(*difference) int {
	return takePairs(func(ours string) func(string) bool {
		reduced := reduce(ours)
		if reduced == ours {
			return nil
		}
		reduced = hint.ReplaceAllString(reduced, "")
		return func(stock string) bool { return hint.ReplaceAllString(stock, "") == reduced }
	})
}

// takePairs takes rows as the method does.
func takePairs(partner func(ours string) (is func(stock string) bool)) func(*difference) int {
	return func(d *difference) int { return d.takePairs(partner) }
}

var (
	queuedFlow   = regexp.MustCompile(`^(Logical_Flow egress .* match=\(outport == )"[^"]*"( && inport == .* actions=\(set_queue\(.*tags=\{in_out_port=)"[^"]*"(.*stage-name="ls_out_apply_port_sec".*)$`)
	queueNetwork = regexp.MustCompile(`^(Port_Binding .*qdisc_queue_id=.*qos_physical_network=)"[^"]*"(.*)$`)
)

// queuedElsewhere are the rows that a row of ours for a queue would be for another
// localnet port.
func queuedElsewhere(ours string) (is func(stock string) bool) {
	anywhere := func(row string) string {
		row = queuedFlow.ReplaceAllString(row, "$1$2$3")
		return queueNetwork.ReplaceAllString(hint.ReplaceAllString(row, ""), "$1$2")
	}
	where := anywhere(ours)
	if where == hint.ReplaceAllString(ours, "") {
		return nil
	}
	return func(stock string) bool { return anywhere(stock) == where }
}

var ipv6Reply = regexp.MustCompile(`( ingress table=07 priority=00105 match=\(\w+ && ip6\.dst == )([^)]*)(\) actions=\(ct_lb_mark;\))`)

// hairpinOfIPv4 are the rows that a row of ours for an IPv6 address would be, with an
// IPv4 address in its place.
func hairpinOfIPv4(ours string) (is func(stock string) bool) {
	anywhere := func(row string) string { return ipv6Reply.ReplaceAllString(row, "$1$3") }
	where := anywhere(ours)
	if where == ours {
		return nil
	}
	return func(stock string) bool {
		if anywhere(stock) != where {
			return false
		}
		ip, err := netip.ParseAddr(ipv6Reply.FindStringSubmatch(stock)[2])
		return err == nil && ip.Is4()
	}
}

var querySource = regexp.MustCompile(` (eth_src|ip4_src|ip6_src)="[^"]*"`)

// queriesFromThePast are the rows that have all that a row of ours has, and sources of
// queries that it lacks.
func queriesFromThePast(ours string) (is func(stock string) bool) {
	if !strings.HasPrefix(ours, "IP_Multicast ") {
		return nil
	}
	configured := querySource.FindAllString(ours, -1)
	return func(stock string) bool {
		return querySource.ReplaceAllStringFunc(stock, func(source string) string {
			if slices.Contains(configured, source) {
				return source
			}
			return ""
		}) == ours
	}
}

// takePairs takes each row of ours with the first of stock's that it goes with.
// partner returns what tells those from others, nil where there can be none.
func (d *difference) takePairs(partner func(ours string) (is func(stock string) bool)) (hits int) {
	d.Ours = slices.DeleteFunc(d.Ours, func(ours string) bool {
		is := partner(ours)
		if is == nil {
			return false
		}
		i := slices.IndexFunc(d.Stock, is)
		if i < 0 {
			return false
		}
		d.Stock = slices.Delete(d.Stock, i, i+1)
		hits++
		return true
	})
	return hits
}

// takeStock takes rows that only stock has.
func takeStock(is func(row string) bool) func(*difference) int {
	return func(d *difference) int {
		before := len(d.Stock)
		d.Stock = slices.DeleteFunc(d.Stock, is)
		return before - len(d.Stock)
	}
}

// takeOurs takes rows that only we have.
func takeOurs(is func(row string) bool) func(*difference) int {
	return func(d *difference) int {
		before := len(d.Ours)
		d.Ours = slices.DeleteFunc(d.Ours, is)
		return before - len(d.Ours)
	}
}

var (
	hint        = regexp.MustCompile(`stage-hint="([0-9a-f]{8})" ?`)
	aclVerdict  = regexp.MustCompile(`stage-name="ls_(in|out)_acl_(after_lb_)?(eval|sample)"`)
	aclSample   = regexp.MustCompile(`stage-name="ls_(in|out)_acl_(after_lb_)?sample"`)
	trackedHint = regexp.MustCompile(`reg0\[[78]\] == 1 && `)
	hairpin     = regexp.MustCompile(`stage-name="ls_in_(pre_|nat_|)hairpin"`)
	residing    = regexp.MustCompile(` && \(\(flags\.localnet == 1 && is_chassis_resident\("[^"]*"\)\) \|\| flags\.localnet == 0\)`)
	fromPort    = regexp.MustCompile(`priority=00100 match=\(inport == "[^"]*"\) actions=\(next;\)`)
	marking     = regexp.MustCompile(`priority=00050 match=\(inport == "[^"]*"\) actions=\(flags\.localnet = 1; next;\)`)
)

// sharedHints takes flows that differ in nothing but the row that they say they
// come from, which must be rows of one table. What else depends on that row, its
// port, goes with it.
func sharedHints(d *difference) int {
	return d.takePairs(func(ours string) func(string) bool {
		h := hint.FindStringSubmatch(ours)
		if h == nil || !strings.HasPrefix(ours, "Logical_Flow") {
			return nil
		}
		rest := hint.ReplaceAllString(ours, "")
		// Stock's may be that of a row which is gone: it keeps the first.
		return func(stock string) bool {
			other := hint.FindStringSubmatch(stock)
			return other != nil && other[1] != h[1] && hint.ReplaceAllString(stock, "") == rest &&
				d.northbound[h[1]].table != "" && (d.northbound[other[1]].table == "" || d.northbound[h[1]].table == d.northbound[other[1]].table)
		}
	})
}

// takeVerdictsWithFunction takes what ours makes of an ACL whose verb does not go
// with its network function group, or on a switch that tracks no connections.
func takeVerdictsWithFunction(d *difference) int {
	return takeOurs(func(ours string) bool {
		h := hint.FindStringSubmatch(ours)
		if h == nil || !aclVerdict.MatchString(ours) {
			return false
		}
		of := d.northbound[h[1]]
		if of.table != "ACL" || fmt.Sprint(of.row.Columns["network_function_group"]) == "{[]}" {
			return false
		}
		return !strings.HasPrefix(text(of.row, "action"), "allow") || !trackedHint.MatchString(ours)
	})(d)
}

// sharedBySwitches takes flows that differ in nothing but stock's stage-hint of a
// switch: ours are one row for all switches with a virtual address.
func sharedBySwitches(d *difference) int {
	return d.takePairs(func(ours string) func(string) bool {
		if !hairpin.MatchString(ours) || hint.MatchString(ours) {
			return nil
		}
		return func(stock string) bool {
			h := hint.FindStringSubmatch(stock)
			return h != nil && hint.ReplaceAllString(stock, "") == ours && (d.northbound[h[1]].table == "Logical_Switch" || d.northbound[h[1]].table == "")
		}
	})
}

var monitorOptions = regexp.MustCompile(` options=(\{[^}]*\})`)

// sharedMonitors takes monitors that differ in nothing but the options, each side's
// being those of some health check.
func sharedMonitors(d *difference) int {
	checks := map[string]bool{}
	for _, of := range d.northbound {
		if strings.HasSuffix(of.table, "Health_Check") {
			checks[printedMap(of.row, "options")] = true
		}
	}
	options := func(row string) (of, rest string) {
		if m := monitorOptions.FindStringSubmatch(row); m != nil {
			of = m[1]
		}
		return of, monitorOptions.ReplaceAllString(row, "")
	}
	return d.takePairs(func(ours string) func(string) bool {
		of, rest := options(ours)
		if !strings.HasPrefix(ours, "Service_Monitor ") || !checks[of] {
			return nil
		}
		return func(stock string) bool {
			other, stockRest := options(stock)
			return stockRest == rest && checks[other]
		}
	})
}

// printedMap is a column of strings to strings as sbdump prints it, "" for an
// empty one.
func printedMap(r *ovsdb.Row, column string) string {
	m, _ := r.Columns[column].(libovsdb.OvsMap)
	var pairs []string
	for k, v := range m.GoMap {
		pairs = append(pairs, fmt.Sprintf("%v=%q", k, v))
	}
	if len(pairs) == 0 {
		return ""
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, " ") + "}"
}

func localnetPassesResponder(row string) bool {
	return strings.Contains(row, `stage-name="ls_in_arp_rsp"`) && fromPort.MatchString(row)
}

func localnetMarks(row string) bool {
	return strings.Contains(row, `stage-name="ls_in_lookup_fdb"`) && marking.MatchString(row)
}

func dropFlagsLocalnet(row string) string {
	switch {
	case strings.Contains(row, `stage-name="ls_in_arp_rsp"`):
		return residing.ReplaceAllString(row, "")
	case strings.Contains(row, `stage-name="ls_in_lookup_fdb"`):
		return strings.Replace(row, "flags.localnet = 1; ", "", 1)
	}
	return row
}

var tierGate = regexp.MustCompile(`(ct_mark\.blocked == [01])? && reg8\[30\.\.31\] == \d`)

func dropTierGate(row string) string {
	if !strings.Contains(row, "_acl_eval\"") || !strings.Contains(row, "ct_mark.blocked == 1") {
		return row
	}
	return tierGate.ReplaceAllString(row, "$1")
}

func samplesNowhere(row string) bool {
	return aclSample.MatchString(row) && strings.Contains(row, "actions=()")
}

func collectorsWithoutDomain(row string) bool {
	return aclSample.MatchString(row) && strings.Contains(row, "obs_domain=0")
}
