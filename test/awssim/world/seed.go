package world

import (
	"encoding/json"
	"time"
)

// Seed is the world as it begins. What is left out is as AWS would have it, but
// for accounts.
type Seed struct {
	Start       time.Time     `json:"start,omitzero"`       // of the simulated clock; zero: now
	Accounts    []AccountSeed `json:"accounts,omitempty"`   // none: the one of Default
	Stock       []Stock       `json:"stock,omitempty"`      // what zones have of instance types
	Conditions  Conditions    `json:"conditions,omitempty"` // latency, throttling, faults
	Speed       *float64      `json:"speed,omitempty"`      // of the clock; nil: 1
	TickPerCall Duration      `json:"tickPerCall,omitempty"`
}

// AccountSeed is one AWS account.
type AccountSeed struct {
	ID                 string             `json:"id"`                  // twelve digits
	Partition          string             `json:"partition,omitempty"` // "aws" by default
	Keys               []Key              `json:"keys"`
	Roles              []Role             `json:"roles,omitempty"`
	OptedIn            []string           `json:"optedIn,omitempty"`            // regions that were enabled
	Quotas             map[string]float64 `json:"quotas,omitempty"`             // by code, "L-DB2E81BA", or region and code, "us-east-1/L-DB2E81BA"
	ServiceControl     json.RawMessage    `json:"serviceControl,omitempty"`     // the organization's policy; it limits all principals
	NewSpotScoreLimit  int                `json:"newSpotScoreLimit,omitempty"`  // new configurations of GetSpotPlacementScores in 24 hours; 0: 50
	ApproveQuotasAfter Duration           `json:"approveQuotasAfter,omitempty"` // 0: requests for more quota stay pending
	Clusters           []ClusterSeed      `json:"clusters,omitempty"`
	Instances          []InstanceSeed     `json:"instances,omitempty"`
}

// Key is an access key of a user.
type Key struct {
	AccessKey    string          `json:"accessKey"`
	Secret       string          `json:"secret"`
	SessionToken string          `json:"sessionToken,omitempty"`
	Expires      time.Time       `json:"expires,omitzero"` // zero: never
	User         string          `json:"user"`
	Policy       json.RawMessage `json:"policy,omitempty"` // nil: everything is allowed
}

// Role can be assumed by whom its account's policies allow to.
type Role struct {
	Name   string          `json:"name"`
	Policy json.RawMessage `json:"policy,omitempty"` // nil: everything is allowed
}

// ClusterSeed is an EKS cluster that exists, with a VPC that has a public and a
// private subnet in each zone.
type ClusterSeed struct {
	Region  string            `json:"region"`
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Zones   []string          `json:"zones"` // by the account's names
	Tags    map[string]string `json:"tags,omitempty"`
}

// InstanceSeed is instances that run already.
type InstanceSeed struct {
	Zone  string `json:"zone"` // by the account's name
	Type  string `json:"type"`
	Count int    `json:"count"`
	Spot  bool   `json:"spot,omitempty"`
}

// The account, key and secret of Default: those of AWS's documentation.
const (
	DefaultAccount = "111122223333"
	DefaultKey     = "AKIAIOSFODNN7EXAMPLE"
	DefaultSecret  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" //nolint:gosec // AWS's own example
)

// Default is one account of an administrator, whose quotas let it run two
// g6.12xlarge or p5.48xlarge, in a world where GPUs are scarce.
func Default() Seed {
	return Seed{
		Accounts: []AccountSeed{{
			ID:     DefaultAccount,
			Keys:   []Key{{AccessKey: DefaultKey, Secret: DefaultSecret, User: "admin"}},
			Roles:  []Role{{Name: "Admin"}},
			Quotas: map[string]float64{"L-DB2E81BA": 192, "L-417A185B": 384, "L-3819A6DF": 192},
			Clusters: []ClusterSeed{
				{Region: "us-east-1", Name: "ray-train", Version: "1.35", Zones: []string{"us-east-1b", "us-east-1d"}, Tags: map[string]string{"team": "ml"}},
			},
		}},
		Stock: []Stock{
			{Type: "g6.*", Count: 1},
			{Type: "g6.*", Zone: "use1-az6", Count: 0},
			{Type: "g6.*", Zone: "use1-az4", Count: 12},
			{Type: "g6.*", Zone: "use2-az*", Count: 6},
			{Type: "g6.*", Zone: "usw2-az2", Count: 20},
			{Type: "p*", Count: 0},
			{Type: "p5*.48xlarge", Zone: "use2-az1", Count: 3},
			{Type: "p4d.*", Zone: "usw2-az*", Count: 4},
		},
	}
}
