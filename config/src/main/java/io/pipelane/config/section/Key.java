package io.pipelane.config.section;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The declaration of a record component as a configuration key. The component's name in kebab-case
 * is the key's last part, its type decides how values are written. Everything else is said here and
 * nowhere else: flags, variables, validation and the ready-made file follow from it.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Key {
  String about();

  /** The key's last part where it is not the component's name, as that may be a word of Java. */
  String name() default "";

  /** The default as it would be written in a file; empty for an {@link java.util.Optional}. */
  String standard() default "";

  /** What an {@link java.util.Optional} that is not set amounts to, in words. */
  String unset() default "";

  /** The smallest value allowed, written like a value; empty for no limit. */
  String min() default "";

  /** The largest value allowed, written like a value; empty for no limit. */
  String max() default "";

  boolean powerOfTwo() default false;
}
