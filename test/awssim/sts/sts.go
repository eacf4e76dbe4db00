// Package sts simulates AWS's Security Token Service: who a caller is, and
// temporary credentials of roles.
package sts

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is the simulated STS. It holds nothing: who there is, the world knows.
type Service struct{}

// New makes it.
func New() Service { return Service{} }

// Wire says how STS is spoken to.
func (Service) Wire() wire.Service {
	return wire.Service{Name: "sts", Protocol: wire.Query, Version: "2011-06-15"}
}

// Operations are what this STS can do.
func (Service) Operations() map[string]world.Operation {
	return map[string]world.Operation{
		"GetCallerIdentity": world.Read(getCallerIdentity),
		"AssumeRole":        world.Write(assumeRole),
	}
}

// Settle does nothing: nothing here changes with time.
func (Service) Settle(time.Time) {}

// State is empty.
func (Service) State() any { return struct{}{} }

type identity struct {
	Account, ARN string
	UserID       string
}

func getCallerIdentity(c *world.Call, _ struct{}) (identity, error) {
	return identity{Account: c.Account.ID, ARN: c.Principal.ARN, UserID: c.Principal.UserID}, nil
}

type assumeRoleIn struct {
	RoleARN         string
	RoleSessionName string
	DurationSeconds int
	ExternalID      string
}

type assumeRoleOut struct {
	Credentials     credentials
	AssumedRoleUser assumedRoleUser
}

type credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string
	Expiration      time.Time
}

type assumedRoleUser struct {
	AssumedRoleID string
	ARN           string
}

func assumeRole(c *world.Call, in assumeRoleIn) (out assumeRoleOut, err error) {
	if err := c.Authorize("sts:AssumeRole", in.RoleARN, nil); err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	account, role, ok := find(c.World, in.RoleARN)
	if !ok || in.RoleSessionName == "" {
		return out, &wire.Error{Code: "AccessDenied", Status: http.StatusForbidden, Message: fmt.Sprintf(
			"User: %s is not authorized to perform: sts:AssumeRole on resource: %s", c.Principal.ARN, in.RoleARN)}
	}
	seconds := in.DurationSeconds
	if seconds == 0 {
		seconds = 3600
	}
	if seconds < 900 || seconds > 43200 {
		return out, wire.Errorf("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	p, secret, err := account.Assume(role, in.RoleSessionName, c.Now.Add(time.Duration(seconds)*time.Second))
	if err != nil {
		return out, err
	}
	return assumeRoleOut{
		Credentials:     credentials{p.AccessKey, secret, p.SessionToken, p.Expires},
		AssumedRoleUser: assumedRoleUser{p.UserID, p.ARN},
	}, nil
}

func find(w *world.World, arn string) (*world.Account, world.Role, bool) {
	for _, account := range w.Accounts {
		name, ok := strings.CutPrefix(arn, account.ARN("iam", "", "role/"))
		if role, known := account.Roles[name]; ok && known {
			return account, role, true
		}
	}
	return nil, world.Role{}, false
}
