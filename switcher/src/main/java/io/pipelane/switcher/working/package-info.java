/**
 * The working memory: what runs, their sessions and the states between runs may hold of a device.
 */
@NullMarked
package io.pipelane.switcher.working;

import org.jspecify.annotations.NullMarked;
