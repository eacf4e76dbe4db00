// Package pricing simulates AWS's Price List: products of EC2, with what they
// cost On-Demand.
package pricing

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is the simulated Price List. It holds nothing: prices are facts.
type Service struct{}

// New makes it.
func New() Service { return Service{} }

// Wire says how Pricing is spoken to.
func (Service) Wire() wire.Service { return wire.Service{Name: "pricing", Protocol: wire.JSON} }

// Operations are what this Price List can do.
func (Service) Operations() map[string]world.Operation {
	return map[string]world.Operation{"GetProducts": world.Read(getProducts)}
}

// Settle does nothing: nothing here changes with time.
func (Service) Settle(time.Time) {}

// State is empty.
func (Service) State() any { return struct{}{} }

type getProductsIn struct {
	world.Paging
	ServiceCode   string
	FormatVersion string
	Filters       []filter
}

type filter struct{ Type, Field, Value string }

type getProductsOut struct {
	FormatVersion string
	PriceList     []string
	NextToken     string
}

// pageSize is the most that Pricing answers at once.
const pageSize = 100

func getProducts(c *world.Call, in getProductsIn) (out getProductsOut, err error) {
	if in.ServiceCode != "AmazonEC2" {
		return out, wire.Errorf("InvalidParameterException", "awssim knows prices of AmazonEC2 only, not of %q", in.ServiceCode)
	}
	if in.MaxResults > pageSize {
		return out, wire.Errorf("InvalidParameterException", "MaxResults must not exceed %d", pageSize)
	}
	for _, f := range in.Filters {
		if f.Type != "TERM_MATCH" {
			return out, wire.Errorf("InvalidParameterException", "awssim knows filters of type TERM_MATCH only, not %q", f.Type)
		}
	}
	var matching []product
	for _, p := range products(c.World.Facts, in.Filters) {
		if !slices.ContainsFunc(in.Filters, func(f filter) bool { return !p.has(f.Field, f.Value) }) {
			matching = append(matching, p)
		}
	}
	page, next, err := world.Page(c, in.Paging, pageSize, matching)
	for _, p := range page {
		out.PriceList = append(out.PriceList, p.json())
	}
	out.FormatVersion, out.NextToken = "aws_v1", next
	return out, err
}

// product is one row of the price list.
type product struct {
	attributes map[string]string
	usd        float64
}

// capacities are what is paid for of a type: instances, and reservations that
// nobody uses or somebody does, which costs nothing more.
var capacities = []struct {
	status, operation string
	free              bool
}{
	{"Used", "RunInstances", false},
	{"UnusedCapacityReservation", "RunInstances", false},
	{"AllocatedCapacityReservation", "RunInstances", true},
}

// products lists those of regions and types that the filters may let through:
// all there are would take long.
func products(f facts.Facts, filters []filter) (all []product) {
	for _, region := range named(f.Regions, filters, "regionCode") {
		for _, name := range named(f.Types, filters, "instanceType") {
			t := f.Types[name]
			if t.USD == 0 || !t.OfferedIn(f.Regions[region]) {
				continue
			}
			for _, c := range capacities {
				usd := t.USD * f.Regions[region].Markup
				if c.free {
					usd = 0
				}
				all = append(all, product{attributes(t, name, region, f.Regions[region], c.status, c.operation), usd})
			}
		}
	}
	return all
}

// named is the names, sorted, that the filters for a field do not exclude.
func named[T any](all map[string]T, filters []filter, field string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return slices.ContainsFunc(filters, func(f filter) bool { return strings.EqualFold(f.Field, field) && !strings.EqualFold(f.Value, name) })
	})
}

func attributes(t facts.Type, name, region string, r facts.Region, status, operation string) map[string]string {
	a := map[string]string{
		"servicecode": "AmazonEC2", "servicename": "Amazon Elastic Compute Cloud", "location": strings.Replace(r.Description, "Europe (", "EU (", 1),
		"locationType": "AWS Region", "regionCode": region, "instanceType": name, "currentGeneration": "Yes", "tenancy": "Shared",
		"operatingSystem": "Linux", "licenseModel": "No License required", "preInstalledSw": "NA", "capacitystatus": status,
		"operation": operation, "marketoption": "OnDemand", "vcpu": fmt.Sprint(t.VCPUs()),
		"memory": fmt.Sprintf("%g GiB", float64(t.MemoryMiB())/1024), "usagetype": usage(status) + ":" + name,
	}
	if gpus, _ := t.GPUs(); gpus > 0 {
		a["gpu"] = fmt.Sprint(gpus)
	}
	return a
}

func usage(status string) string {
	return map[string]string{"Used": "BoxUsage", "UnusedCapacityReservation": "UnusedBox", "AllocatedCapacityReservation": "Reservation"}[status]
}

// has compares as AWS does: without regard to capitals.
func (p product) has(field, value string) bool {
	for name, have := range p.attributes {
		if strings.EqualFold(name, field) {
			return strings.EqualFold(have, value)
		}
	}
	return strings.EqualFold(field, "productFamily") && strings.EqualFold(value, "Compute Instance")
}

// The codes of AWS's price list for On-Demand terms and prices by the hour.
const (
	onDemandTerm = "JRTCKXETXF"
	hourlyRate   = "6YS6EN2CT7"
)

// json writes the product as the price list has it.
func (p product) json() string {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, p.attributes) // never fails
	sku := strings.ToUpper(fmt.Sprintf("%016x", h.Sum64()))
	term, rate := sku+"."+onDemandTerm, sku+"."+onDemandTerm+"."+hourlyRate
	text, err := json.Marshal(map[string]any{
		"product":     map[string]any{"productFamily": "Compute Instance", "attributes": p.attributes, "sku": sku},
		"serviceCode": "AmazonEC2",
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": sku, "offerTermCode": onDemandTerm, "effectiveDate": "2026-11-01T00:00:00Z", "termAttributes": map[string]string{},
			"priceDimensions": map[string]any{rate: map[string]any{
				"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "rateCode": rate, "appliesTo": []string{},
				"description":  fmt.Sprintf("$%.6g per %s %s Instance Hour", p.usd, p.attributes["operatingSystem"], p.attributes["instanceType"]),
				"pricePerUnit": map[string]string{"USD": fmt.Sprintf("%.10f", p.usd)},
			}},
		}}},
		"version": "20261101000000", "publicationDate": "2026-11-01T00:00:00Z",
	})
	if err != nil {
		panic(fmt.Sprintf("pricing: writing a product: %v", err)) // only texts
	}
	return string(text)
}
