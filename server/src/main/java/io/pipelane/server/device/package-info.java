/** The devices that a server runs on: which there are, how each is opened, and them together. */
@NullMarked
package io.pipelane.server.device;

import org.jspecify.annotations.NullMarked;
