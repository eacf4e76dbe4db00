package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	events := `{"Action":"run","Package":"p","Test":"TestQuick"}
{"Action":"output","Package":"p","Test":"TestQuick","Output":"not worth a word\n"}
{"Action":"pass","Package":"p","Test":"TestQuick","Elapsed":0.1}
{"Action":"pass","Package":"p","Test":"TestSlow","Elapsed":61}
{"Action":"output","Package":"p","Test":"TestNothing","Output":"--- SKIP: TestNothing (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestNothing"}
{"Action":"output","Package":"p","Test":"TestBroken","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestBroken","Elapsed":2}
{"Action":"output","Package":"p","Output":"FAIL\tp\t63.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"skip","Package":"without/tests"}
go: some remark of its own
`
	var out strings.Builder
	skipped, err := report(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	want := `    TestSlow                                                       61.0s
--- SKIP: TestNothing (0.00s)
got 1, want 2
FAIL	p	63.1s
go: some remark of its own
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"TestNothing"}, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}
