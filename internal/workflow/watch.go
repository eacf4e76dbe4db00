package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trainyard/trainyard/fabric"
)

// watchInterval is how often a running job is judged, and judgingShare how much
// of the time at most that may take on a job so large that judging is work.
const (
	watchInterval = time.Second
	judgingShare  = 0.1
)

// errFabricFail stops a job because the wrong network carries it.
var errFabricFail = errors.New("the fabric check says FAIL")

// watch judges the job while its evidence arrives and says what is proven as
// soon as it is: ranks on different networks hang for as long as PyTorch's
// watchdog lets them. Where the run is to fail fast, a FAIL ends the job by
// calling fail; watch returns then, or when ctx ends.
func (f *following) watch(ctx context.Context, fail func(error)) {
	said, read, pause := "", int64(0), watchInterval
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if lines := f.gatherer.NCCLLines(); lines != read {
			read = lines
			f.lines.start() // NCCL's lines are not shown, but the job's own code runs
			began := time.Now()
			verdict := f.verdict()
			pause = max(watchInterval, time.Duration(float64(time.Since(began))/judgingShare))
			if word := verdictWord(verdict); word != said && verdict.Verdict != fabric.Unknown {
				said = word
				f.tellEarly(verdict)
			}
			if f.run.Info.FailFast && verdict.Verdict == fabric.Fail && verdict.Blocks() {
				fail(errFabricFail)
				return
			}
		}
		timer.Reset(pause)
	}
}

// tellEarly says what the evidence shows before the job has ended.
func (f *following) tellEarly(v fabric.Verdict) {
	if v.Verdict == fabric.Pass {
		f.Story.Note("transport so far: " + v.Summary)
		return
	}
	f.Story.Warn(fmt.Sprintf("transport FAIL %s: %s", v.Cause, v.Summary))
	if v.Remedy != "" {
		f.Story.Note("to do: " + v.Remedy)
	}
}
