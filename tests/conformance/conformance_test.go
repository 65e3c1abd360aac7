// Package conformance holds docs/conformance.md, which names our tests for the
// ground that OVN's cover, to what there is.
package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"northwall/tests/golden"
)

const root = "../.."

var (
	testFunc     = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	namedTest    = regexp.MustCompile("`(?:(\\w+)\\.)?((?:Test|Fuzz)\\w+)`")
	namedGolden  = regexp.MustCompile(`golden (\d{3}(?:(?:, | and )\d{3})*)`)
	namedDir     = regexp.MustCompile("`((?:tests|cmd|docs)/[\\w./-]+)`")
	rangeOfTests = regexp.MustCompile(`golden [\d, ]*\d{3}(?: to |-)\d`)
)

// TestConformance: every test, scenario and directory that the page names exists.
func TestConformance(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)

	tests := testFuncs(t)
	named := namedTest.FindAllStringSubmatch(text, -1)
	if len(named) < 50 {
		t.Errorf("the page names %d tests: has its form changed?", len(named))
	}
	for _, m := range named {
		if pkg, test := m[1], m[2]; !tests[pkg+"."+test] {
			t.Errorf("there is no %s", m[0])
		}
	}

	scenarios, shared := scenarioNumbers(t)
	if !shared {
		t.Log("skipped: scenarios of the reference, which are not here")
	}
	for _, m := range namedGolden.FindAllStringSubmatch(text, -1) {
		for _, n := range strings.FieldsFunc(m[1], func(r rune) bool { return r < '0' || r > '9' }) {
			if !scenarios[n] && (shared || n >= "200") {
				t.Errorf("%s: there is no scenario %s", m[0], n)
			}
		}
	}
	if m := rangeOfTests.FindString(text); m != "" {
		t.Errorf("%s: a range, which is not checked", m)
	}
	for _, m := range namedDir.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && !strings.HasPrefix(m[1], "tests/ovn-") {
			t.Error(err)
		}
	}

	// Each of OVN's tests has one row.
	rows := map[string]int{}
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(line, "| ") {
			rows[name]++
		}
	}
	for name, n := range rows {
		if n > 1 && name != "OVN's test" {
			t.Errorf("%q has %d rows", name, n)
		}
	}
}

// testFuncs are the test functions of the module, as "PACKAGE.NAME" and as ".NAME".
func testFuncs(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			out[filepath.Base(filepath.Dir(path))+"."+string(m[1])] = true
			out["."+string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// scenarioNumbers are what the scenarios' names begin with, and whether those of
// the reference are among them.
func scenarioNumbers(t *testing.T) (numbers map[string]bool, shared bool) {
	t.Helper()
	all, shared, err := golden.LoadAll(root+"/tests/golden/testdata", "switch")
	if err != nil {
		t.Fatal(err)
	}
	numbers = map[string]bool{}
	for _, s := range all {
		number, _, _ := strings.Cut(s.Name, "-")
		numbers[number] = true
	}
	return numbers, shared
}
