// SPDX-License-Identifier: Apache-2.0

// Command build-images writes the project's image archives: build-images -o DIR [VERSION ...].
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
)

func main() {
	out := flag.String("o", "bin", "folder for the archives")
	root := flag.String("C", ".", "the module's folder")
	flag.Parse()
	set, err := images.Build(context.Background(), *root, *out, flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, a := range set.Archives {
		fmt.Println(a)
	}
}
