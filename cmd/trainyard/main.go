// Command trainyard runs multi-node PyTorch jobs with Ray Train and proves
// which network carried them.
package main

import (
	"os"

	"github.com/trainyard/trainyard/internal/cli"
)

func main() { os.Exit(int(cli.Main(os.Args[1:]))) }
