// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
)

// modeMaintenance is ScyllaDB's mode up to 2025.4. Since 2026.1 a node in maintenance mode has no
// path for its mode, as in the early stages of every start; mode then reads the configuration
// (main.cc, where start_maintenance_mode comes before set_server_storage_service).
const modeMaintenance = "MAINTENANCE"

// mode returns the node's operation mode.
func (r *Reader) mode(ctx context.Context) (string, error) {
	mode, err := r.c.OperationMode(ctx)
	if IsMissing(err) {
		if on, _ := r.c.MaintenanceMode(ctx); on {
			return modeMaintenance, nil
		}
	}
	return mode, err
}

// MaintenanceMode reports whether the node's configuration has maintenance mode: the node serves
// only its own data and joins no cluster.
func (c *Client) MaintenanceMode(ctx context.Context) (bool, error) {
	var on bool
	return on,
		c.get(ctx, "/v2/config/maintenance_mode", func(b io.Reader) (err error) { on, err = decodeBool(b); return })
}
