// Command go reads a job's log from standard input and prints which network
// each rank used and the verdict, as a check in CI or an operator would: it ends
// with 0 where the network was proven, with 4 where it was another one, and with
// 5 where the log does not tell.
//
//	kubectl logs -l job-name=train --prefix --tail=-1 | go run ./examples/go
//	go run ./examples/go -expect efa < train.log
//
// All it needs are two packages, which cost no other module: nccllog turns the
// log into data while it arrives, and fabric judges the data.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

func main() {
	name := flag.String("expect", string(fabric.RDMA), "the network that the job must have used: efa, rdma, ib, socket or any")
	flag.Parse()
	expectation, err := fabric.ParseExpectation(*name)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	verdict, err := judge(os.Stdin, expectation)
	if err == nil {
		err = show(os.Stdout, verdict)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(exitCode(verdict))
}

// judge reads a log to its end. A program that follows a job may ask for
// p.Log(), and judge it, while the log still grows.
func judge(log io.Reader, expectation fabric.Expectation) (fabric.Verdict, error) {
	p := nccllog.NewParser("standard input")
	if _, err := io.Copy(p, log); err != nil {
		return fabric.Verdict{}, fmt.Errorf("reading log: %w", err)
	}
	if err := p.Close(); err != nil {
		return fabric.Verdict{}, err
	}
	return fabric.Judge(fabric.Evidence{
		Expectation: expectation,
		Logs:        []fabric.LogFile{{Log: p.Log()}},
		GPUs:        -1, // not known here
	}), nil
}

func show(out io.Writer, v fabric.Verdict) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row(w, "rank", "host", "pid", "network", "transport", "edges", "gdr")
	for _, p := range v.Processes {
		row(w, p.Rank, p.Host, p.PID, strings.Join(p.Networks, ","), p.Transport, p.NetEdges, p.GDREdges)
	}
	row(w)
	row(w, v.Verdict, v.Summary)
	if v.Cause != "" {
		row(w, "cause", v.Cause)
		row(w, "remedy", v.Remedy)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

// row writes to memory, which does not fail.
func row(w io.Writer, cells ...any) {
	format := strings.TrimSuffix(strings.Repeat("%v\t", len(cells)), "\t") + "\n"
	_, _ = fmt.Fprintf(w, format, cells...)
}

func exitCode(v fabric.Verdict) int {
	switch {
	case !v.Blocks():
		return 0
	case v.Verdict == fabric.Fail:
		return 4
	}
	return 5
}
