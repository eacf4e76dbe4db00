package fabric

// instance is what an EC2 instance type has for NCCL's network.
type instance struct {
	// efa is the largest number of EFA interfaces.
	// Source: EC2's DescribeInstanceTypes, NetworkInfo.EfaInfo.MaximumEfaInterfaces.
	efa int
	// gdr tells that the OFI plugin demands GPUDirect RDMA.
	// Source: aws-ofi-nccl, src/platform-aws.cpp, platform_data_map.
	gdr bool
}

// instanceOf returns what is known of the type; zero for others.
func instanceOf(name string) instance {
	switch name {
	case "g4dn.8xlarge", "g4dn.12xlarge", "g4dn.16xlarge", "g4dn.metal",
		"g5.8xlarge", "g5.12xlarge", "g5.16xlarge", "g5.24xlarge", "g5.48xlarge",
		"g6.8xlarge", "g6.12xlarge", "g6.16xlarge", "g6.24xlarge", "g6.48xlarge", "gr6.8xlarge",
		"g6e.8xlarge", "g6e.12xlarge", "g6e.16xlarge",
		"g7.8xlarge", "g7.12xlarge", "g7.24xlarge", "g7e.8xlarge",
		"p3dn.24xlarge", "p5.4xlarge":
		return instance{efa: 1}
	case "g6e.24xlarge", "g7.48xlarge":
		return instance{efa: 2}
	case "g6e.48xlarge":
		return instance{efa: 4}
	case "g7e.12xlarge":
		return instance{1, true}
	case "g7e.24xlarge":
		return instance{2, true}
	case "p4d.24xlarge", "p4de.24xlarge", "g7e.48xlarge":
		return instance{4, true}
	case "p6-b200.48xlarge":
		return instance{8, true}
	case "p5en.48xlarge", "p6-b300.48xlarge": // b300 has a 17th card for ENA only
		return instance{16, true}
	case "p5.48xlarge", "p5e.48xlarge":
		return instance{32, true}
	}
	return instance{}
}
