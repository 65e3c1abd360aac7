package northd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVIP(t *testing.T) {
	one, two := backend{"10.0.0.1", 80}, backend{"10.0.0.2", 8080}
	for _, c := range []struct {
		key, backends string
		want          *vip // without Key and Text; nil for malformed
	}{
		{"10.0.1.1:80", "10.0.0.1:80,10.0.0.2:8080", &vip{IP: "10.0.1.1", Port: "80", Backends: []backend{one, two}}},
		{"10.0.1.1:080", ",10.0.0.1:80,,", &vip{IP: "10.0.1.1", Port: "80", Backends: []backend{one}}},
		{"10.0.1.1:80", "", &vip{IP: "10.0.1.1", Port: "80"}},
		{"10.0.1.1", "10.0.0.1", &vip{IP: "10.0.1.1", Backends: []backend{{IP: "10.0.0.1"}}}},
		{"10.0.1.1:0", "10.0.0.1", &vip{IP: "10.0.1.1", Backends: []backend{{IP: "10.0.0.1"}}}},
		{"[fd00:0::1]:80", "[fd00::2]:80", &vip{IP: "fd00::1", Port: "80", V6: true, Backends: []backend{{"fd00::2", 80}}}},
		{"fd00::1", "fd00::2", &vip{IP: "fd00::1", V6: true, Backends: []backend{{IP: "fd00::2"}}}},
		{"[fd00::1]", "[fd00::2]", &vip{IP: "fd00::1", V6: true, Backends: []backend{{IP: "fd00::2"}}}},
		{"10.0.1.1:80", "10.0.0.1", nil},
		{"10.0.1.1", "10.0.0.1:80", nil},
		{"10.0.1.1:80", "10.0.0.1:80, 10.0.0.2:80", nil},
		{"10.0.1.1:80", "[fd00::1]:80", nil},
		{"10.0.1.1:80", "10.0.0.1:x", nil},
		{"10.0.1.1:70000", "", nil},
		{"10.0.1.0/24:80", "", nil},
		{"10.0.1.1:80:90", "", nil},
		{"[10.0.1.1]:80", "", nil},
		{"[fd00::1:80", "", nil},
		{"[fd00::1]80", "", nil},
		{"^vip:80", "", nil},
		{"", "", nil},
	} {
		got, ok := parseVIP(c.key, c.backends)
		compareVIP(t, c.key, c.backends, got, ok, c.want)
	}
}

func TestParseTemplateVIP(t *testing.T) {
	for _, c := range []struct {
		key, backends string
		v6            bool
		want          *vip
	}{
		{"^vip:^port", "^backends", false, &vip{IP: "^vip", Port: "^port", Backends: []backend{{IP: "^backends"}}}},
		{"^vip", "^a:80,^b:^c", true, &vip{IP: "^vip", V6: true, Backends: []backend{{IP: "^a"}, {IP: "^b"}}}},
		{"10.0.1.1:80", "^a,10.0.0.1:80", false, &vip{IP: "10.0.1.1", Port: "80", Backends: []backend{{IP: "^a"}, {"10.0.0.1", 80}}}},
		{"[^vip]:80", "[fd00::1]:80", true, &vip{IP: "[^vip]", Port: "80", V6: true, Backends: []backend{{"fd00::1", 80}}}},
		{"^vip:", "^a", false, &vip{IP: "^vip", Backends: []backend{{IP: "^a"}}}},
		{"^vip:80:90", "^a", false, nil},
		{"[fd00::1]:80", "^a", true, nil},
		{"^vip:80", "10.0.0.1", false, nil},
		{"^vip:80", "[fd00::1]:80", false, nil},
		{"^vip:80", "^a:80:90", false, nil},
		{"^vip", "^a, ^b", false, nil},
		{":", "^a", false, nil},
		{"", "^a", false, nil},
	} {
		got, ok := parseTemplateVIP(c.key, c.backends, c.v6)
		compareVIP(t, c.key, c.backends, got, ok, c.want)
	}
}

func compareVIP(t *testing.T, key, backends string, got vip, ok bool, want *vip) {
	t.Helper()
	if want == nil {
		if ok {
			t.Errorf("%s=%s reads as %+v, want an error", key, backends, got)
		}
		return
	}
	want.Key, want.Text = key, backends
	if diff := cmp.Diff(*want, got); !ok || diff != "" {
		t.Errorf("%s=%s: ok %t (-want +got):\n%s", key, backends, ok, diff)
	}
}

func TestMappingOf(t *testing.T) {
	for _, c := range []struct {
		text string
		v6   bool
		want mapping
		ok   bool
	}{
		{"p1", false, mapping{Port: "p1"}, true},
		{"p1:10.0.0.254", false, mapping{Port: "p1", Source: "10.0.0.254"}, true},
		{"p1:10.0.0.254:zone", false, mapping{Port: "p1", Source: "10.0.0.254", Zone: "zone"}, true},
		{"p1:[fd00:0::fe]", true, mapping{Port: "p1", Source: "fd00::fe"}, true},
		{"p1:[fd00::fe]:zone", true, mapping{Port: "p1", Source: "fd00::fe", Zone: "zone"}, true},
		{"p1:", false, mapping{}, false},
		{"p1::zone", false, mapping{}, false},
		{"p1:10.0.0.254:", false, mapping{}, false},
		{"p1:10.0.0.254/24", false, mapping{}, false},
		{"p1:fd00::fe", true, mapping{}, false},
		{"p1:[fd00::fe", true, mapping{}, false},
		{"p1:[fd00::fe]:", true, mapping{}, false},
		{":10.0.0.254", false, mapping{}, false},
		{"", false, mapping{}, false},
	} {
		b, key := backend{IP: "10.0.0.1"}, "10.0.0.1"
		if c.v6 {
			b, key = backend{IP: "fd00::1"}, "[fd00::1]"
		}
		got, ok := mappingOf(map[string]string{key: c.text}, b, c.v6)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("mapping %q: %+v, %t, want %+v, %t", c.text, got, ok, c.want, c.ok)
		}
		if _, ok := mappingOf(map[string]string{key: c.text}, backend{IP: "other"}, c.v6); ok {
			t.Errorf("mapping %q is found for another backend", c.text)
		}
	}
}
