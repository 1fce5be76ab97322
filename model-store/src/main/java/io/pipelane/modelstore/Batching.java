package io.pipelane.modelstore;

/**
 * Import's verdict whether rows are answered the same alone and together, so that requests may run
 * as one.
 *
 * @param detail the error that was seen, or why nothing was tried
 */
public record Batching(Verdict verdict, String detail) {

  /** The verdict of import. */
  public enum Verdict {
    /** They are. */
    AGREES,
    /** Rows have an effect on each other's answers. */
    CHANGES_ANSWERS,
    /** Requests cannot be put together, or the model cannot be asked. */
    NOT_APPLICABLE
  }

  /** Nothing is known, so requests run one by one. */
  public static Batching notApplicable(String reason) {
    return new Batching(Verdict.NOT_APPLICABLE, reason);
  }

  /** Whether nobody can tell from the answers. */
  public boolean agrees() {
    return verdict == Verdict.AGREES;
  }

  /** Whether requests can be put together at all. */
  public boolean possible() {
    return verdict != Verdict.NOT_APPLICABLE;
  }

  /** As an owner reads it. */
  @Override
  public String toString() {
    return switch (verdict) {
      case AGREES -> "requests may run together: " + detail;
      case CHANGES_ANSWERS ->
          "running together changes answers, so only batching.mode always allows it: " + detail;
      case NOT_APPLICABLE -> "requests run alone: " + detail;
    };
  }
}
