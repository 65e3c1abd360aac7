package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	for _, tc := range []struct {
		name, in, want string
	}{
		{
			name: "what passes is one line",
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: words\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}`,
			want: "ok  \tp\t0.1s\n",
		},
		{
			name: "skipped tests come last, with their reasons",
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: no server: none installed\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB/sub","Output":"--- SKIP: TestB/sub (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB/sub"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}`,
			want: "ok  \tp\t0.1s\nskipped: p TestA: no server: none installed\nskipped: p TestB/sub: no reason given\n",
		},
		{
			name: "what fails is printed whole",
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: got 1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`,
			want: "=== RUN   TestA\n    a_test.go:3: got 1\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.1s\n",
		},
		{
			name: "a test that the end of its package cut off",
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out\n"}
{"Action":"output","Package":"q","Test":"TestQ","Output":"still running\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`,
			want: "FAIL\tp\t0.1s\npanic: test timed out\n",
		},
		{
			name: "what does not compile",
			in: `{"ImportPath":"p","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p","Action":"build-output","Output":"a.go:1:1: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p"}`,
			want: "# p\na.go:1:1: undefined: x\nFAIL\tp [build failed]\n",
		},
		{name: "words that are no event", in: "go: downloading x\n", want: "go: downloading x\n"},
		{
			name: "packages without tests",
			in:   `{"Action":"output","Package":"p","Output":"?   \tp\t[no test files]\n"}` + "\n" + `{"Action":"skip","Package":"p"}`,
			want: "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got strings.Builder
			if err := report(strings.NewReader(tc.in), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
