package workflow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/process"
)

// CapacityRequest says what to look for, and what it may cost.
type CapacityRequest struct {
	Types   []string
	Nodes   int
	Regions []string // empty: all that the account has
	Spot    bool
	EFA     bool   // types without EFA will not do
	Cluster string // an EKS cluster, or ""
	Profile string // of AWS's configuration, or ""

	Block    time.Duration // length of Capacity Blocks
	Deadline time.Duration // for each region

	Probe        bool
	AllZones     bool // probe on after the first success
	Keep         bool // keep the reservation that succeeds
	AtOnce       int  // zones to probe at once
	Reserve      time.Duration
	RequestQuota bool

	// Agree asks the user something; nil: yes to everything.
	Agree func(ctx context.Context, question string) (bool, error)
	// Show turns rows into lines for a terminal.
	Show func(rows []capacity.Row, need capacity.Need) string
}

// CapacityResult is what was found, the best first.
type CapacityResult struct {
	Need    capacity.Need       `json:"-"`
	Account string              `json:"account,omitempty"`
	Types   []instancetype.Type `json:"types"`
	Nodes   int                 `json:"nodes"`
	Spot    bool                `json:"spot"`
	Cluster string              `json:"cluster,omitempty"`
	Asked   time.Time           `json:"asked"`
	Rows    []capacity.Ranked   `json:"zones"`
	Advice  capacity.Advice     `json:"advice"`
	Swept   []string            `json:"swept,omitempty"`   // reservations of dead probes that were cancelled
	Unswept []capacity.Unseen   `json:"unswept,omitempty"` // where they could not be looked for
	Filed   *capacity.Filed     `json:"filed,omitempty"`   // a request for more quota
	Probed  bool                `json:"probed"`
}

// Err says that the job fits nowhere, or that this is not known.
func (r CapacityResult) Err() error {
	switch {
	case r.Advice.Best != nil:
		return nil
	case r.Advice.Undecided:
		return errors.New("looking for capacity: it is not known whether the job fits: " + r.Advice.Text)
	}
	err := errors.New("looking for capacity: " + r.Advice.Text)
	if q := r.Advice.Quota; q != nil && r.Filed == nil {
		err = fault.WithHint(q.Command(), err)
	}
	return fault.WithCode(fault.NoCapacity, err)
}

// searching is a search for capacity that goes on.
type searching struct {
	Workspace
	req     CapacityRequest
	session *awsapi.Session
	me      capacity.Me
	need    capacity.Need
}

// Capacity looks for capacity in all regions at once, cancels what dead probes
// of the same user have left, and ranks what it found. Where it is asked to, it
// probes zones in that order.
func (w Workspace) Capacity(ctx context.Context, req CapacityRequest) (result CapacityResult, err error) {
	defer w.failedStep(&err)
	ctx, stop := w.untilHungUp(ctx)
	defer stop()
	s := &searching{Workspace: w, req: req, me: w.me()}
	w.Story.Begin("account")
	if s.session, err = awsapi.Load(ctx, awsapi.Options{Profile: req.Profile, Agent: "trainyard"}); err != nil {
		return result, err
	}
	if s.need, err = s.readNeed(ctx); err != nil {
		return result, err
	}
	found, err := s.look(ctx)
	if err != nil {
		return result, err
	}
	swept, problem := s.sweep(ctx, found)
	rows := withKept(found, s.me.Owner, s.need)
	ranked := capacity.Rank(rows, s.need)
	probed := req.Probe
	if req.Probe && ctx.Err() == nil && problem == nil { // what cannot be cancelled is not added to
		var err error
		ranked, probed, err = s.probe(ctx, ranked, s.kept(found))
		problem = errors.Join(problem, err)
	}
	result = CapacityResult{
		Need: s.need, Account: found.Identity.Account, Types: s.need.Types, Nodes: s.need.Nodes, Spot: s.need.Spot, Cluster: s.need.Cluster,
		Asked: time.Now().UTC(), Rows: ranked, Swept: swept, Unswept: found.Unseen(), Probed: probed,
		Advice: capacity.Advise(ranked, s.need, capacity.Asked{Regions: req.Regions, Probed: probed, Reserve: req.Reserve}),
	}
	if req.RequestQuota && problem == nil {
		result.Filed, problem = s.requestQuota(ctx, result.Advice.Quota)
	}
	return result, problem
}

func (w Workspace) me() capacity.Me {
	return capacity.Me{Owner: w.User, Run: "probe-" + strings.ToLower(rand.Text()[:12]), Machine: capacity.Machine(), Process: process.Self()}
}

// untilHungUp ends, as with a Ctrl-C, when the terminal is gone.
func (w Workspace) untilHungUp(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-w.Detach:
			end(capacity.ErrHungUp)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

// look asks all regions.
func (s *searching) look(ctx context.Context) (capacity.Found, error) {
	search := capacity.Search{
		Session: s.session, Need: s.need, Regions: s.req.Regions, Me: s.me, Scores: capacity.OpenScores(s.CacheDir),
		Deadline: s.req.Deadline, Now: time.Now,
	}
	var rows []capacity.Row
	asked, skipped := 0, 0
	found, err := search.All(ctx, func(r capacity.Region) {
		if asked+skipped == 0 {
			s.Story.Begin("regions")
		}
		if r.Skipped() {
			skipped++
			return
		}
		asked++
		rows = append(rows, r.Rows...)
		s.Story.Table(s.req.Show(rows, s.need), fmt.Sprintf("%s answered, the last %s", plural(asked, "region"), r.Name))
	})
	if err != nil {
		return found, err
	}
	text := fmt.Sprintf("%s of account %s asked", plural(asked, "region"), orUnknown(found.Identity.Account))
	if skipped > 0 {
		text += fmt.Sprintf(", %d not", skipped)
	}
	s.Story.Done(text)
	if found.Guessed != "" {
		s.Story.Warn("the account's regions could not be listed (" + found.Guessed + "): those that every account has are taken for granted")
	}
	if found.NoCluster != "" {
		s.Story.Warn(found.NoCluster)
	}
	if found.Unsaved != nil {
		s.Story.Warn(found.Unsaved.Error())
	}
	return found, nil
}

func orUnknown(text string) string {
	if text == "" {
		return "not known"
	}
	return text
}

// requestQuota files the increase that is short, if the user agrees.
func (s *searching) requestQuota(ctx context.Context, q *capacity.QuotaRequest) (*capacity.Filed, error) {
	if q == nil {
		s.Story.Note("no quota is short: nothing to request")
		return nil, nil
	}
	if s.req.Agree != nil {
		agreed, err := s.req.Agree(ctx, fmt.Sprintf("request %d vCPUs of %q (now %d) in %s?", q.Wanted, q.Name, q.Limit, q.Region))
		if err != nil || !agreed {
			return nil, err
		}
	}
	s.Story.Begin("quota")
	late, cancel := context.WithTimeout(ctx, s.req.Deadline)
	defer cancel()
	filed, err := q.File(late, s.session.Quotas(q.Region))
	if awsapi.KindOf(err) == awsapi.Late {
		return nil, fmt.Errorf("requesting quota %s in %s: no answer within %s: it may be requested or not", q.Code, q.Region, s.req.Deadline)
	}
	if err != nil {
		return nil, err
	}
	text := "requested"
	if filed.Already {
		text = "was requested before"
	}
	s.Story.Done(fmt.Sprintf("%s: %d vCPUs of %s in %s, request %s is %s", text, filed.Wanted, q.Name, q.Region, filed.ID, strings.ToLower(filed.Status)))
	return &filed, nil
}
