#!/usr/bin/env bash
# Looks for capacity as a careful person's script does: the aws client, one call
# after the other, region by region. It is what trainyard capacity is measured
# against.
#
#     serial.sh TYPE NODES CLUSTER [probe]
set -euo pipefail
type=$1 nodes=$2 cluster=$3 probe=${4:-}
export AWS_PAGER="" AWS_DEFAULT_OUTPUT=text

for region in $(aws ec2 describe-regions --query 'Regions[].RegionName'); do
	export AWS_REGION=$region AWS_DEFAULT_REGION=$region
	zones=$(aws ec2 describe-instance-type-offerings --location-type availability-zone \
		--filters "Name=instance-type,Values=$type" --query 'InstanceTypeOfferings[].Location')
	[ -n "$zones" ] && [ "$zones" != None ] || { echo "$region: not offered"; continue; }
	aws ec2 describe-availability-zones --query 'AvailabilityZones[].[ZoneName,ZoneId]' >/dev/null
	quota=$(aws service-quotas get-service-quota --service-code ec2 --quota-code L-DB2E81BA --query Quota.Value)
	running=$(aws ec2 describe-instances --filters Name=instance-state-name,Values=pending,running \
		'Name=instance-type,Values=g*,vt*' --query 'length(Reservations[].Instances[])')
	scores=$(aws ec2 get-spot-placement-scores --instance-types "$type" --target-capacity "$nodes" \
		--single-availability-zone --region-names "$region" --query 'SpotPlacementScores[].Score')
	price=$(aws ec2 describe-spot-price-history --instance-types "$type" --product-descriptions Linux/UNIX \
		--start-time "$(date -u +%FT%TZ)" --query 'SpotPriceHistory[0].SpotPrice')
	vpc=$(aws eks describe-cluster --name "$cluster" --query cluster.resourcesVpcConfig.vpcId 2>/dev/null || true)
	subnets=0
	if [ -n "$vpc" ]; then
		subnets=$(aws ec2 describe-subnets --filters "Name=vpc-id,Values=$vpc" --query 'length(Subnets)')
	fi
	echo "$region: quota $quota, running $running, scores ${scores//$'\t'/ }, Spot $price, subnets $subnets"
	[ -n "$probe" ] || continue
	for zone in $zones; do
		if id=$(aws ec2 create-capacity-reservation --availability-zone "$zone" --instance-type "$type" \
			--instance-platform Linux/UNIX --instance-count "$nodes" --instance-match-criteria targeted \
			--end-date-type limited --end-date "$(date -u -d '+30 minutes' +%FT%TZ)" \
			--query CapacityReservation.CapacityReservationId 2>/dev/null); then
			aws ec2 cancel-capacity-reservation --capacity-reservation-id "$id" >/dev/null
			echo "$zone: stock"
		else
			echo "$zone: no stock"
		fi
	done
done
