package main

import "github.com/spf13/cobra"

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "troupe",
		Short:         "Coordination on Apache ZooKeeper",
		SilenceUsage:  true, // main reports errors, once
		SilenceErrors: true,
	}
	cmd.AddCommand(server())
	return cmd
}
