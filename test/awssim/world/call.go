package world

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/policy"
	"github.com/trainyard/trainyard/test/awssim/wire"
)

// Call is one request on its way: who asks what, where and when.
type Call struct {
	World     *World
	Account   *Account
	Principal *Principal
	Region    string
	Request   *wire.Request
	Now       time.Time

	dryRun bool
	record *Record
}

// Operation does what an action asks for, while nobody else changes the world.
type Operation func(*Call) (any, error)

// Read makes an operation that only looks, which is allowed by its name for all
// resources, of a function from its parameters to its answer.
func Read[In, Out any](do func(*Call, In) (Out, error)) Operation {
	return Write(func(c *Call, in In) (Out, error) {
		if err := c.Authorize(c.Action(), "*", nil); err != nil {
			var none Out
			return none, err
		}
		if err := c.Proceed(); err != nil {
			var none Out
			return none, err
		}
		return do(c, in)
	})
}

// Write makes an operation that asks Authorize itself for what it is about to
// do, and then Proceed, before it changes anything.
func Write[In, Out any](do func(*Call, In) (Out, error)) Operation {
	return func(c *Call) (any, error) {
		var in In
		if err := c.Request.Decode(&in); err != nil {
			return nil, err
		}
		return do(c, in)
	}
}

// Action is the call's action as IAM names it, "ec2:RunInstances".
func (c *Call) Action() string { return c.Request.Service.Name + ":" + c.Request.Action }

// ARN names a resource of the caller's, in the call's service and region.
func (c *Call) ARN(resource string) string {
	return c.Account.ARN(c.Request.Service.Name, c.Region, resource)
}

// RegionFacts is what AWS says of the call's region.
func (c *Call) RegionFacts() facts.Region { return c.World.Facts.Regions[c.Region] }

// Context is condition keys of IAM with their values.
type Context map[string][]string

// Check is one decision of IAM.
type Check struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Allowed  bool   `json:"allowed"`
}

// Authorize asks the caller's policies.
func (c *Call) Authorize(action, resource string, context Context) error {
	keys := Context{"aws:RequestedRegion": {c.Region}, "aws:PrincipalArn": {c.Principal.ARN}, "aws:PrincipalAccount": {c.Account.ID}}
	maps.Copy(keys, context)
	query := policy.Query{Action: action, Resource: resource, Context: keys}
	reason := c.refusal(query)
	c.record.Checks = append(c.record.Checks, Check{action, resource, reason == ""})
	if reason == "" {
		return nil
	}
	return denied(c.Request.Service.Protocol, fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s because %s",
		c.Principal.ARN, action, resource, reason))
}

// refusal is why the policies refuse, in AWS's words; "" if they do not.
func (c *Call) refusal(query policy.Query) string {
	if c.Account.control != nil {
		switch policy.Evaluate(c.Account.control, query) {
		case policy.Denied:
			return "of an explicit deny in a service control policy"
		case policy.Implicit:
			return fmt.Sprintf("no service control policy allows the %s action", query.Action)
		case policy.Allowed:
		}
	}
	if c.Principal.policies == nil || query.Action == "sts:GetCallerIdentity" { // which needs no permission
		return ""
	}
	switch policy.Evaluate(c.Principal.policies, query) {
	case policy.Allowed:
		return ""
	case policy.Denied:
		return "of an explicit deny in an identity-based policy"
	default:
		return fmt.Sprintf("no identity-based policy allows the %s action", query.Action)
	}
}

func denied(protocol wire.Protocol, why string) error {
	switch protocol {
	case wire.EC2:
		return &wire.Error{Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation. " + why, Status: http.StatusForbidden}
	case wire.Query:
		return &wire.Error{Code: "AccessDenied", Message: why, Status: http.StatusForbidden}
	case wire.REST:
		return &wire.Error{Code: "AccessDeniedException", Message: why, Status: http.StatusForbidden}
	default:
		return &wire.Error{Code: "AccessDeniedException", Message: why}
	}
}

// Proceed ends a dry run, which has shown that the caller may.
func (c *Call) Proceed() error {
	if len(c.record.Checks) == 0 {
		return fmt.Errorf("%s asked for no permission", c.Action())
	}
	if c.dryRun {
		return &wire.Error{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set.", Status: http.StatusPreconditionFailed}
	}
	return nil
}

// Visible tells whether an object that was made then is seen by now.
func (c *Call) Visible(made time.Time) bool {
	return !c.Now.Before(made.Add(time.Duration(c.World.Conditions.Consistency)))
}
