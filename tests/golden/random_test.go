package golden

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"northwall/ovsdb/ctl"
	"northwall/tests/golden/sbdump"
)

var (
	steps = flag.Int("steps", 400, "number of edits of TestRandomEdits")
	seed  = flag.Uint64("seed", 1, "seed of TestRandomEdits")
)

// An editor makes random command lines on few names, so that edits meet.
type editor struct{ *rand.Rand }

func (e editor) one(options ...string) string { return options[e.IntN(len(options))] }
func (e editor) sw() string                   { return fmt.Sprintf("s%d", e.IntN(4)) }
func (e editor) port() string                 { return fmt.Sprintf("p%d", e.IntN(8)) }
func (e editor) group() string                { return fmt.Sprintf("g%d", e.IntN(3)) }

func (e editor) ports() string {
	var out []string
	for range e.IntN(4) {
		out = append(out, e.port())
	}
	return strings.Join(out, " ")
}

func (e editor) address() string {
	n := e.IntN(6)
	return e.one("unknown", fmt.Sprintf(`"50:54:00:00:00:%02x"`, n), fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d"`, n, n),
		fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d fd00::%d"`, n, n, n), fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d" unknown`, n, n))
}

func (e editor) acl(owner, kind string) string {
	direction, where := "to-lport", "outport"
	if e.IntN(2) == 0 {
		direction, where = "from-lport", "inport"
	}
	name := `"` + e.port() + `"`
	if kind == "port-group" {
		name = "@" + owner
	}
	match := e.one("ip4", "tcp.dst == 80", "udp && ip6", where+" == "+name, where+" == "+name+" && icmp4", "ip4.src == $as0", "this does not parse")
	options := e.one("", "", "", "--log ", "--log --severity=alert --meter=m0 ", "--tier=1 ", "--tier=2 ", "--label=5 ")
	if direction == "from-lport" && e.IntN(4) == 0 {
		options += "--apply-after-lb "
	}
	return fmt.Sprintf("%s--type=%s acl-add %s %s %d '%s' %s", options, kind, owner, direction, 1000+e.IntN(4), match,
		e.one("allow", "allow-related", "allow-stateless", "drop", "reject", "pass"))
}

func (e editor) line() string {
	switch e.IntN(24) {
	case 0, 1:
		return "--may-exist ls-add " + e.sw()
	case 2:
		return e.one("--if-exists ls-del "+e.sw(), "--may-exist ls-add "+e.sw())
	case 3, 4, 5:
		p := e.port()
		return fmt.Sprintf("lsp-add %s %s -- lsp-set-addresses %s %s", e.sw(), p, p, e.address())
	case 6:
		return "--if-exists lsp-del " + e.port()
	case 7:
		return "lsp-set-addresses " + e.port() + " " + e.address()
	case 8:
		return e.one("lsp-set-port-security "+e.port()+` "50:54:00:00:00:01 10.0.0.1"`, "lsp-set-port-security "+e.port(),
			"lsp-set-enabled "+e.port()+" "+e.one("enabled", "disabled"))
	case 9:
		p := e.port()
		return e.one("lsp-set-type "+p+" localnet -- lsp-set-options "+p+" network_name=phys", "lsp-set-type "+p+` "" -- lsp-set-options `+p, "lsp-set-type "+p+" localport")
	case 10, 11:
		return "pg-add " + e.group() + " " + e.ports()
	case 12:
		return "pg-set-ports " + e.group() + " " + e.ports()
	case 13:
		return e.one("pg-del "+e.group(), "pg-set-ports "+e.group()+" "+e.ports())
	case 14, 15, 16:
		return e.acl(e.sw(), "switch")
	case 17, 18:
		return e.acl(e.group(), "port-group")
	case 19:
		return "acl-del " + e.sw() + e.one("", " to-lport", " from-lport")
	case 20:
		return "--type=port-group acl-del " + e.group()
	case 21:
		return e.one("create address_set name=as0 addresses=10.0.0.1", "set address_set as0 addresses=10.0.0.1,10.0.0.2", "destroy address_set as0",
			"meter-add m0 drop 10 pktps", "--fair meter-add m0 drop 20 kbps", "meter-del m0")
	case 22:
		return "set logical_switch " + e.sw() + " other_config:vlan-passthru=" + e.one("true", "false")
	default:
		return e.one("set nb_global . options:default_acl_drop="+e.one("true", "false"), "set nb_global . options:use_ct_inv_match="+e.one("true", "false"),
			"set nb_global . options:ignore_lsp_down="+e.one("true", "false"), "sb: chassis-add hv0 geneve 127.0.0.1", "sb: chassis-del hv0",
			"sb: lsp-bind "+e.port()+" hv0", "sb: lsp-unbind "+e.port())
	}
}

// TestRandomEdits makes random edits and compares now and then with what comes
// from scratch.
func TestRandomEdits(t *testing.T) {
	e := editor{rand.New(rand.NewPCG(*seed, 0))}
	w := NewMemory()
	if err := runLine(t.Context(), w, initLine); err != nil {
		t.Fatal(err)
	}
	var since []string       // the last comparison
	done := map[string]int{} // commands that did something, by their name
	for step := range *steps {
		line := e.line()
		since = append(since, line)
		words, err := ctl.Words(strings.TrimPrefix(line, "sb: "))
		if err != nil {
			t.Fatal(err)
		}
		// Commands that name what is not there fail; what the northd does must not.
		edit := w.editors.northboundNoWait
		if strings.HasPrefix(line, "sb: ") {
			edit = w.editors.southbound
		}
		if err := edit(t.Context(), words); err == nil {
			suffix := ""
			for ; strings.HasPrefix(words[0], "--"); words = words[1:] {
				if words[0] == "--type=port-group" {
					suffix = "/group"
				}
			}
			done[words[0]+suffix]++
		}
		if err := w.sync(); err != nil {
			t.Fatalf("step %d: %v\nafter:\n%s", step, err, strings.Join(since, "\n"))
		}
		if step%10 != 9 {
			continue
		}
		restart(t, w)
		sb, nb, _ := w.Contents()
		scratch(t, w, sbdump.Lines(sb, nb))
		if t.Failed() {
			t.Fatalf("step %d, seed %d, after:\n%s", step, *seed, strings.Join(since, "\n"))
		}
		since = nil
	}
	if *steps < 400 {
		return
	}
	for _, command := range strings.Fields("ls-add ls-del lsp-add lsp-del lsp-set-addresses lsp-set-type lsp-set-port-security lsp-set-enabled " +
		"pg-add pg-del pg-set-ports acl-add acl-add/group acl-del acl-del/group meter-add meter-del create set destroy chassis-add lsp-bind") {
		if done[command] == 0 {
			t.Errorf("%s never did anything: this tests too little (%v)", command, done)
		}
	}
}
