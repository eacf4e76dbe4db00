package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// frozen is a world whose clock stands still until a test moves it.
func frozen(change ...func(*world.Seed)) world.Seed {
	seed := world.Default()
	seed.Start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	seed.Speed = aws.Float64(0)
	for _, c := range change {
		c(&seed)
	}
	return seed
}

// account changes the seed's first account.
func account(change func(*world.AccountSeed)) func(*world.Seed) {
	return func(s *world.Seed) { change(&s.Accounts[0]) }
}

// config is how the SDK is told of the simulator. It tries nothing twice.
func config(s *sim.Server, region, key, secret, token string) aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(s.URL),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: token}, nil
		}),
	}
}

// admin is the configuration of the administrator of Default.
func admin(s *sim.Server, region string) aws.Config {
	return config(s, region, world.DefaultKey, world.DefaultSecret, "")
}

// code is the code of AWS's error, "" for none.
func code(err error) string {
	var api smithy.APIError
	switch {
	case errors.As(err, &api):
		return api.ErrorCode()
	case err != nil:
		return "no answer"
	default:
		return ""
	}
}

func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("got the code %q, want %q: %v", got, want, err)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reservation is a request for a targeted reservation of g6.12xlarge.
func reservation(zone string, count int32) *ec2.CreateCapacityReservationInput {
	return &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String("g6.12xlarge"), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, AvailabilityZone: &zone,
		InstanceCount: &count, InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
	}
}

// reserve makes one.
func reserve(c *ec2.Client, zone string, count int32, change ...func(*ec2.CreateCapacityReservationInput)) (*types.CapacityReservation, error) {
	in := reservation(zone, count)
	for _, f := range change {
		f(in)
	}
	out, err := c.CreateCapacityReservation(context.Background(), in)
	if err != nil {
		return nil, err
	}
	return out.CapacityReservation, nil
}

// run starts instances of g6.12xlarge.
func run(c *ec2.Client, zone string, count int32, change ...func(*ec2.RunInstancesInput)) (*ec2.RunInstancesOutput, error) {
	in := &ec2.RunInstancesInput{
		InstanceType: "g6.12xlarge", ImageId: aws.String("ami-0123456789abcdef0"), MinCount: &count, MaxCount: &count,
		Placement: &types.Placement{AvailabilityZone: &zone},
	}
	for _, f := range change {
		f(in)
	}
	return c.RunInstances(context.Background(), in)
}

// total is what the ledger says that everything cost, and what still does an hour.
func total(s *sim.Server) (usd, perHour float64) {
	for _, e := range s.Ledger() {
		if e.Kind == "cluster" {
			continue
		}
		usd += e.USD
		if e.To.IsZero() {
			perHour += e.USDPerHour * float64(e.Count)
		}
	}
	return usd, perHour
}
