/** What the web page shows: one view of models, devices and workers. */
@NullMarked
package io.pipelane.server.state;

import org.jspecify.annotations.NullMarked;
