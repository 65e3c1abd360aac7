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
	steps = flag.Int("steps", 1200, "number of edits of TestRandomEdits")
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

func (e editor) lb() string { return fmt.Sprintf("l%d", e.IntN(3)) }

// loadBalancer edits what switches balance.
func (e editor) loadBalancer() string {
	lb := e.lb()
	switch e.IntN(9) {
	case 0, 1, 2:
		n := e.IntN(3)
		backends := e.one(`""`, "10.0.0.1:80", "10.0.0.1:80,10.0.0.2:80", "10.0.0.2:80,10.0.0.3:81")
		return fmt.Sprintf("--may-exist lb-add %s 10.0.1.%d:80 %s %s", lb, n, backends, e.one("tcp", "udp", "sctp"))
	case 3, 4:
		return e.one("--may-exist ls-lb-add ", "--may-exist ls-lb-add ", "--if-exists ls-lb-del ") + e.sw() + " " + lb
	case 5, 8:
		return e.one("--if-exists lb-del "+lb, "--if-exists lb-del "+lb, "clear load_balancer "+lb+" vips", "clear load_balancer "+lb+" health_check",
			"--id=@g create load_balancer_group name=lg0 -- add logical_switch "+e.sw()+" load_balancer_group @g -- add logical_switch "+e.sw()+
				" load_balancer_group @g", "destroy load_balancer_group lg0", "clear logical_switch "+e.sw()+" load_balancer_group",
			"--id=@l create load_balancer name="+lb+" vips:10.0.1.9=10.0.0.1 -- add load_balancer_group lg0 load_balancer @l",
			"clear load_balancer_group lg0 load_balancer")
	case 6:
		p := e.IntN(4)
		return e.one(fmt.Sprintf("set load_balancer %s ip_port_mappings:10.0.0.%d=p%d:10.0.0.254", lb, p, p),
			fmt.Sprintf(`--id=@h create load_balancer_health_check 'vip="10.0.1.%d:80"' -- add load_balancer %s health_check @h`, e.IntN(3), lb),
			fmt.Sprintf("sb: set service_monitor p%d status=%s", p, e.one("online", "offline")))
	default:
		return "set load_balancer " + lb + " options:" + e.one("reject", "event", "distributed", "hairpin_snat_ip") + "=" + e.one("true", "false") +
			e.one("", " options:affinity_timeout="+e.one("0", "10"), " selection_fields=tp_src,ip_src") +
			e.one("", " -- set logical_switch "+e.sw()+" other_config:enable-stateless-acl-with-lb="+e.one("true", "false"))
	}
}

// service edits what switches answer and copy themselves.
func (e editor) service() string {
	port, mirror := e.port(), e.one("m0", "m1", "m2")
	switch e.IntN(9) {
	case 0:
		return fmt.Sprintf("--id=@d create dhcp_options cidr=%s options:server_id=10.0.0.254 'options:server_mac=\"50:54:00:00:00:fe\"' %s -- set logical_switch_port %s dhcpv4_options=@d",
			e.one("10.0.0.0/24", "10.0.0.0/30", "junk"), e.one("options:lease_time=60", "options:lease_time=60 options:mtu=1400", ""), port)
	case 1:
		return fmt.Sprintf("--id=@d create dhcp_options 'cidr=\"fd00::/64\"' 'options:server_id=\"50:54:00:00:00:fe\"' options:dhcpv6_stateless=%s -- set logical_switch_port %s dhcpv6_options=@d",
			e.one("true", "false"), port)
	case 2:
		return e.one("clear logical_switch_port "+port+" dhcpv4_options", "set logical_switch_port "+port+" options:hostname=h",
			"lsp-set-type "+port+" external")
	case 3:
		return e.one("--id=@d create dns records:a.b=10.0.0.1 -- add logical_switch "+e.sw()+" dns_records @d -- add logical_switch "+e.sw()+" dns_records @d",
			"clear logical_switch "+e.sw()+" dns_records")
	case 4:
		return fmt.Sprintf("mirror-add %s lport %s %s", mirror, e.one("both", "from-lport", "to-lport"), port) + e.one("", " -- lsp-attach-mirror "+e.port()+" "+mirror)
	case 5:
		return e.one("mirror-add "+mirror+" gre 5 both 10.9.9.9", "mirror-del "+mirror, "mirror-rule-add "+mirror+" 100 ip4 "+e.one("mirror", "skip"), "mirror-rule-del "+mirror)
	case 6:
		return e.one("--may-exist lsp-attach-mirror ", "--may-exist lsp-attach-mirror ", "lsp-detach-mirror ") + port + " " + mirror
	case 7:
		return e.one("--may-exist fwd-group-add f0 "+e.sw()+" 10.0.0.100 50:54:00:00:00:aa "+port, "--if-exists fwd-group-del f0",
			"--liveness --may-exist fwd-group-add f0 "+e.sw()+" 10.0.0.100 50:54:00:00:00:aa "+port, "set forwarding_group f0 vip=10.0.0.101")
	default:
		return e.one("copp-add c0 "+e.one("reject", "dns", "igmp", "nd-na", "svc-monitor", "dhcpv4-opts", "event-elb")+" m0", "copp-del c0",
			"ls-copp-add c0 "+e.sw(), "set logical_switch "+e.sw()+" other_config:mcast_snoop="+e.one("true", "false"))
	}
}

func (e editor) line() string {
	switch e.IntN(32) {
	case 28, 29, 30, 31:
		return e.service()
	case 24, 25, 26, 27:
		return e.loadBalancer()
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
			"sb: chassis-add hv0 geneve 127.0.0.1", "sb: lsp-bind "+e.port()+" hv0", "sb: lsp-bind "+e.port()+" hv0", "sb: lsp-unbind "+e.port())
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
	if *steps < 800 {
		return
	}
	for _, command := range strings.Fields("ls-add ls-del lsp-add lsp-del lsp-set-addresses lsp-set-type lsp-set-port-security lsp-set-enabled " +
		"pg-add pg-del pg-set-ports acl-add acl-add/group acl-del acl-del/group meter-add meter-del lb-add lb-del ls-lb-add ls-lb-del create set destroy chassis-add lsp-bind") {
		if done[command] == 0 {
			t.Errorf("%s never did anything: this tests too little (%v)", command, done)
		}
	}
}
