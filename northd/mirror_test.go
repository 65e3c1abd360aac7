package northd

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/schema/nb"
)

func TestMirrorFlows(t *testing.T) {
	rules := []*nb.MirrorRule{
		{Action: nb.MirrorRuleActionMirror, Match: "ip4", Priority: 50},
		{Action: nb.MirrorRuleActionSkip, Match: "tcp || udp", Priority: 32767},
	}
	in := []string{
		`ls_in_mirror 100 inport == "p\"1" => mirror("mp-sw-m"); next;`,
		`ls_in_mirror 150 inport == "p\"1" && (ip4) => mirror("mp-sw-m"); next;`,
		`ls_in_mirror 32867 inport == "p\"1" && (tcp || udp) => next;`,
	}
	out := []string{
		`ls_out_mirror 100 outport == "p\"1" => mirror("mp-sw-m"); next;`,
		`ls_out_mirror 150 outport == "p\"1" && (ip4) => mirror("mp-sw-m"); next;`,
		`ls_out_mirror 32867 outport == "p\"1" && (tcp || udp) => next;`,
	}
	for _, c := range []struct {
		filter nb.MirrorFilter
		want   []string
	}{
		{nb.MirrorFilterFromLport, in},
		{nb.MirrorFilterToLport, out},
		{nb.MirrorFilterBoth, append(append([]string{}, in...), out...)},
	} {
		t.Run(c.filter, func(t *testing.T) {
			var got []string
			for _, f := range mirrorFlows(c.filter, rules, `p"1`, "mp-sw-m") {
				got = append(got, fmt.Sprintf("%s %d %s => %s", f.Stage.Name(), f.Priority, f.Match, f.Actions))
			}
			if d := cmp.Diff(got, c.want); d != "" {
				t.Errorf("got (-) and want (+):\n%s", d)
			}
		})
	}
}
