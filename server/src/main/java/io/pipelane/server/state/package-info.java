/**
 * The state that the web page shows: one view of models, devices and workers; and what is known of
 * other hosts.
 */
@NullMarked
package io.pipelane.server.state;

import org.jspecify.annotations.NullMarked;
