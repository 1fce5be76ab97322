/** Memory that clients of this machine share with the server, instead of sending tensors. */
@NullMarked
package io.pipelane.server.shared;

import org.jspecify.annotations.NullMarked;
