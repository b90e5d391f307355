// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
)

// modeMaintenance is ScyllaDB's word up to 2025.4. Since 2026.1 a node in maintenance mode has no path for its mode, as in the early stages of every start: its configuration tells it
// (main.cc, where start_maintenance_mode comes before set_server_storage_service).
const modeMaintenance = "MAINTENANCE"

// mode is the node's operation mode.
func (r *Reader) mode(ctx context.Context) (string, error) {
	mode, err := r.c.OperationMode(ctx)
	if IsMissing(err) {
		if on, _ := r.c.MaintenanceMode(ctx); on {
			return modeMaintenance, nil
		}
	}
	return mode, err
}

// MaintenanceMode is whether the node's configuration says that it serves its own data alone, and joins nobody.
func (c *Client) MaintenanceMode(ctx context.Context) (bool, error) {
	var on bool
	return on, c.get(ctx, "/v2/config/maintenance_mode", func(b io.Reader) (err error) { on, err = decodeBool(b); return })
}
