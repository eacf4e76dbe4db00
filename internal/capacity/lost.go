package capacity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/wait"
)

// noticeLost sets lost once an attempt of a call leaves open whether AWS has done
// what was asked for. The call's own error is not enough to know: it is the last
// attempt's, and an earlier one may have had no answer.
func noticeLost(lost *bool) func(*ec2.Options) {
	watch := middleware.DeserializeMiddlewareFunc("trainyard.NoticeLost",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleDeserialize(ctx, in)
			*lost = *lost || err != nil && !isRefusal(err)
			return out, metadata, err
		})
	return func(o *ec2.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(watch, middleware.Before) // where each attempt passes, once it is signed
		})
	}
}

// isRefusal tells whether an attempt's error proves that AWS has done nothing:
// it has answered, and not that something went wrong on its side.
func isRefusal(err error) bool {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return false // no answer, or one that broke off
	}
	_, timeout := retry.DefaultRetryableErrorCodes[answer.ErrorCode()]
	return !timeout && awsapi.KindOf(err) != awsapi.Server
}

// found looks for the reservation that AWS did not confirm, for as long as it
// may not show it. Without one, the error is that of the call that made it, or
// made it not.
func (p Prober) found(t *trial, unconfirmed error) (Reservation, error) {
	ctx, cancel := p.tidying(p.Hidden)
	defer cancel()
	var made []Reservation
	_ = wait.For(ctx, wait.Options{Interval: settleInterval, Timeout: p.Hidden}, func(ctx context.Context) (bool, string, error) {
		made, _ = p.ofTrial(ctx, t.row) // a look that failed may succeed the next time; lookAgain says why not
		return len(made) > 0, "", nil
	})
	if len(made) == 0 {
		return Reservation{}, unconfirmed
	}
	for _, v := range made[1:] { // one token should make one
		p.give(t, v.ID)
	}
	return made[0], nil
}

// ofTrial lists what this command has reserved in a zone.
func (p Prober) ofTrial(ctx context.Context, row Row) ([]Reservation, error) {
	return reservationsIn(ctx, p.Session.EC2(row.Region),
		filter("tag:"+TagRun, p.Me.Run), filter("availability-zone", row.Zone), filter("instance-type", row.Type))
}

// give cancels one that was found.
func (p Prober) give(t *trial, id string) {
	t.row.Stock.Reservation, t.row.Stock.Until = id, t.until
	p.release(t)
}

// lookAgain looks, at the end of a run, for a reservation that was not found
// when it may have been made, and cancels it. The error says what may be left.
func (p Prober) lookAgain(t *trial) error {
	ctx, cancel := p.tidying(cleanUp)
	defer cancel()
	made, err := p.ofTrial(ctx, t.row)
	why := "so far it shows none"
	if err != nil {
		why = "looking for it failed: " + awsapi.Brief(err)
	}
	for _, v := range made {
		p.give(t, v.ID)
	}
	if len(made) > 0 {
		return t.problem
	}
	return fault.WithHint(p.Need.of(t.row.Type).Command([]string{t.row.Region})+" looks again, and cancels what it finds",
		fmt.Errorf("reserving %d %s in %s: %s; %s; if there is one, AWS ends it within an hour after %s",
			p.Need.Nodes, t.row.Type, t.row.Zone, t.row.Stock.Why, why, t.until.UTC().Format(time.RFC3339)))
}
