package io.pipelane.config;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The declaration of a component of {@link PipelaneConfig} as a section of the configuration. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
@interface Section {
  /** The first part of the section's keys. */
  String name();

  String about();
}
