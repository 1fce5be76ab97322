/** Other hosts: who they are, what they have, and how requests get there. */
@NullMarked
package io.pipelane.server.hosts;

import org.jspecify.annotations.NullMarked;
