package io.pipelane.config;

import java.util.regex.Pattern;

/** A URL as messages quote it: without the user and the password that it may name. */
public final class QuotedUrl {
  /** A password may have any characters in it. */
  private static final Pattern USER_INFORMATION = Pattern.compile("(?s)://.*@");

  private QuotedUrl() {}

  /** The text, which need not be a URL, with {@code ://...@} where one would name a user. */
  public static String of(String text) {
    return USER_INFORMATION.matcher(text).replaceAll("://...@");
  }
}
