/** The HTTP/1.1 server: connections, routes, and requests under way. */
@NullMarked
package io.pipelane.server.http;

import org.jspecify.annotations.NullMarked;
