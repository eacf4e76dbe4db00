package capacity

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// Prices are On-Demand prices for Linux in USD an hour, by type and region.
type Prices map[place]float64

// Of is the price of a type in a region.
func (p Prices) Of(instanceType, region string) (usd float64, ok bool) {
	usd, ok = p[place{instanceType, region}]
	return usd, ok
}

// pricesOf asks for each type once, for all regions of the home's partition.
func pricesOf(ctx context.Context, session *awsapi.Session, home string, all []instancetype.Type) (Prices, error) {
	api, err := priceList(session, home)
	if err != nil {
		return nil, err
	}
	prices := Prices{}
	var waits []func() (Prices, error)
	for _, t := range all {
		waits = append(waits, later(func() (Prices, error) { return askPrices(ctx, api, [2]string{"instanceType", t.Name}) }))
	}
	for _, wait := range waits {
		some, err := wait()
		if err != nil {
			return nil, err
		}
		maps.Copy(prices, some)
	}
	return prices, nil
}

// PricesIn are those of all types in a region.
func PricesIn(ctx context.Context, session *awsapi.Session, region string) (Prices, error) {
	api, err := priceList(session, region)
	if err != nil {
		return nil, err
	}
	return askPrices(ctx, api, [2]string{"regionCode", region})
}

// priceList is the way to the price list of a region's partition.
func priceList(session *awsapi.Session, region string) (awsapi.Pricing, error) {
	list := awsapi.PricingRegion(region)
	if list == "" {
		return nil, fmt.Errorf("AWS's partition %s has no price list", awsapi.PartitionOf(region))
	}
	return session.Pricing(list), nil
}

// askPrices reads the price list of instances with these attributes: what runs
// Linux on hardware that is shared, without software that costs extra.
func askPrices(ctx context.Context, api awsapi.Pricing, attributes ...[2]string) (Prices, error) {
	service := "AmazonEC2"
	in := &pricing.GetProductsInput{ServiceCode: &service}
	for _, f := range append(attributes, [][2]string{
		{"operatingSystem", "Linux"}, {"preInstalledSw", "NA"}, {"tenancy", "Shared"}, {"capacitystatus", "Used"},
	}...) {
		in.Filters = append(in.Filters, types.Filter{Type: types.FilterTypeTermMatch, Field: &f[0], Value: &f[1]})
	}
	prices := Prices{}
	pages := pricing.NewGetProductsPaginator(api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading AWS's price list: %w", err)
		}
		for _, text := range page.PriceList {
			if at, usd, ok := readProduct(text); ok {
				prices[at] = usd
			}
		}
	}
	return prices, nil
}

// product is an entry of the price list, which is JSON in a string.
type product struct {
	Product struct {
		Attributes struct {
			InstanceType string `json:"instanceType"`
			Region       string `json:"regionCode"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			Dimensions map[string]struct {
				Unit  string            `json:"unit"`
				Price map[string]string `json:"pricePerUnit"` // by currency
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// readProduct takes the hourly price out of an entry. Those of 0, and in other
// currencies than USD, are none.
func readProduct(text string) (at place, usd float64, ok bool) {
	var p product
	if json.Unmarshal([]byte(text), &p) != nil {
		return at, 0, false
	}
	for _, term := range p.Terms.OnDemand {
		for _, d := range term.Dimensions {
			price, err := strconv.ParseFloat(d.Price["USD"], 64)
			if err == nil && price > 0 && d.Unit == "Hrs" {
				return place{p.Product.Attributes.InstanceType, p.Product.Attributes.Region}, price, true
			}
		}
	}
	return at, 0, false
}
