package world

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/policy"
)

// Account is one AWS account.
type Account struct {
	ID                string
	Partition         string
	NewSpotScoreLimit int
	ApproveQuotas     time.Duration // after which a request for more is approved; 0: never

	Principals map[string]*Principal // by access key
	Roles      map[string]Role       // by name
	Quotas     map[string]float64    // by code, or region and code
	optedIn    []string
	control    []policy.Document // the organization's
	once       map[string]remembered
}

// Principal is somebody who signs requests.
type Principal struct {
	ARN          string
	UserID       string
	AccessKey    string
	SessionToken string    // of temporary credentials
	Expires      time.Time // zero: never
	secret       string
	policies     []policy.Document // nil: everything is allowed
}

func newAccount(seed AccountSeed) (*Account, error) {
	if len(seed.ID) != 12 || strings.Trim(seed.ID, "0123456789") != "" || len(seed.Keys) == 0 {
		return nil, fmt.Errorf("the account %q needs an id of twelve digits, and a key", seed.ID)
	}
	a := &Account{
		ID: seed.ID, Partition: seed.Partition, NewSpotScoreLimit: seed.NewSpotScoreLimit, ApproveQuotas: time.Duration(seed.ApproveQuotasAfter),
		Principals: map[string]*Principal{}, Roles: map[string]Role{}, Quotas: maps.Clone(seed.Quotas),
		optedIn: seed.OptedIn, once: map[string]remembered{},
	}
	if a.Partition == "" {
		a.Partition = "aws"
	}
	if a.NewSpotScoreLimit == 0 {
		a.NewSpotScoreLimit = 50
	}
	if a.Quotas == nil {
		a.Quotas = map[string]float64{}
	}
	var err error
	if a.control, err = documents(seed.ServiceControl); err != nil {
		return nil, fmt.Errorf("the service control policy of account %s: %w", a.ID, err)
	}
	for _, role := range seed.Roles {
		a.Roles[role.Name] = role
	}
	for _, key := range seed.Keys {
		p := &Principal{
			ARN: a.ARN("iam", "", "user/"+key.User), UserID: "AIDA" + shortHash(a.ID+key.User), AccessKey: key.AccessKey,
			SessionToken: key.SessionToken, Expires: key.Expires, secret: key.Secret,
		}
		if p.policies, err = documents(key.Policy); err != nil {
			return nil, fmt.Errorf("user %s: %w", key.User, err)
		}
		a.Principals[key.AccessKey] = p
	}
	return a, nil
}

func documents(text json.RawMessage) ([]policy.Document, error) {
	if len(text) == 0 {
		return nil, nil
	}
	d, err := policy.Parse(text)
	return []policy.Document{d}, err
}

// Assume makes temporary credentials of a role and returns them with their secret.
func (a *Account) Assume(role Role, session string, expires time.Time) (*Principal, string, error) {
	policies, err := documents(role.Policy)
	if err != nil {
		return nil, "", fmt.Errorf("role %s: %w", role.Name, err)
	}
	unique := fmt.Sprint(role.Name, session, expires, len(a.Principals))
	id := shortHash(a.ID + unique)
	p := &Principal{
		ARN: a.ARN("sts", "", "assumed-role/"+role.Name+"/"+session), UserID: "AROA" + shortHash(a.ID+role.Name) + ":" + session,
		AccessKey: "ASIA" + id, SessionToken: "session-" + id, Expires: expires, secret: "secret-" + id, policies: policies,
	}
	a.Principals[p.AccessKey] = p
	return p, p.secret, nil
}

// ARN names a resource of the account; the region is "" for global services.
func (a *Account) ARN(service, region, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", a.Partition, service, region, a.ID, resource)
}

// OptInStatus is how the account stands to a region, in AWS's words.
func (a *Account) OptInStatus(name string, region facts.Region) string {
	switch {
	case !region.OptIn:
		return "opt-in-not-required"
	case slices.Contains(a.optedIn, name):
		return "opted-in"
	default:
		return "not-opted-in"
	}
}

// Zone is one zone as an account sees it.
type Zone struct{ Name, ID string }

// Zones lists the zones of a region. Which zone (ID) has which name is different
// in each account.
func (a *Account) Zones(region facts.Region) []Zone {
	names := slices.Sorted(maps.Keys(region.Zones))
	shift := 0
	if a.ID != DefaultAccount && len(names) > 1 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(a.ID)) // never fails
		shift = 1 + int(h.Sum32()%uint32(len(names)-1))
	}
	zones := make([]Zone, len(names))
	for i, name := range names {
		zones[i] = Zone{Name: name, ID: region.Zones[names[(i+shift)%len(names)]]}
	}
	return zones
}

func shortHash(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return fmt.Sprintf("%016X", h.Sum64())
}

// Secret is what the principal signs with.
func (p *Principal) Secret() string { return p.secret }

// Principal finds who has an access key, and in which account.
func (w *World) Principal(accessKey string) (*Account, *Principal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.Accounts {
		if p, ok := a.Principals[accessKey]; ok {
			return a, p
		}
	}
	return nil, nil
}
