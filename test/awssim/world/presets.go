package world

import "time"

// Distances is a latency for each region as a client in us-east-1's part of the
// world sees it, from 30 to 300 ms.
func Distances() []Latency {
	table := []struct {
		region string
		ms     int
	}{
		{"*", 200},
		{"us-east-*", 30},
		{"us-west-*", 70},
		{"ca-*", 40},
		{"mx-*", 70},
		{"eu-west-*", 90},
		{"eu-central-*", 110},
		{"eu-north-*", 120},
		{"eu-south-*", 120},
		{"sa-east-1", 130},
		{"ap-northeast-*", 180},
		{"ap-south*", 230},
		{"ap-southeast-*", 250},
		{"ap-southeast-2", 300},
	}
	distances := make([]Latency, len(table))
	for i, row := range table {
		distances[i] = Latency{Region: row.region, Delay: Duration(time.Duration(row.ms) * time.Millisecond)}
	}
	return distances
}

// DocumentedLimits are request limits as AWS documents them, for each account,
// region and action; those of Service Quotas and Pricing are not public and
// guessed. EC2 has others for what a call makes, instances a second, which are
// left out. Source: "Request throttling for the Amazon EC2 API" of its developer
// guide.
func DocumentedLimits() []Limit {
	return []Limit{
		{Service: "ec2", Action: "Describe*", Rate: 20, Burst: 100},
		{Service: "ec2", Action: "Get*", Rate: 20, Burst: 100},
		{Service: "ec2", Action: "Create*", Rate: 5, Burst: 50},
		{Service: "ec2", Action: "Delete*", Rate: 5, Burst: 50},
		{Service: "ec2", Action: "RunInstances", Rate: 2, Burst: 5},
		{Service: "ec2", Action: "TerminateInstances", Rate: 5, Burst: 100},
		{Service: "servicequotas", Action: "*", Rate: 5, Burst: 10},
		{Service: "pricing", Action: "*", Rate: 10, Burst: 10},
	}
}
