package io.pipelane.modelstore;

/**
 * Import's verdict whether a batch may be filled up to a larger one by repeating a row of it.
 *
 * @param detail the error that was seen, or why nothing was tried
 */
public record Padding(Verdict verdict, String detail) {

  /** The verdict of import. */
  public enum Verdict {
    /** The other rows' answers stay the same. */
    HARMLESS,
    /** Rows have an effect on each other's answers: only exact batches are right. */
    CHANGES_ANSWERS,
    /** There is no batch to fill up, or the model cannot be asked. */
    NOT_APPLICABLE
  }

  /** Nothing is known, so nothing may be filled up. */
  public static Padding notApplicable(String reason) {
    return new Padding(Verdict.NOT_APPLICABLE, reason);
  }

  /** Whether a batch may be filled up. */
  public boolean harmless() {
    return verdict == Verdict.HARMLESS;
  }

  /** As an owner reads it. */
  @Override
  public String toString() {
    return switch (verdict) {
      case HARMLESS -> "batches may be padded: " + detail;
      case CHANGES_ANSWERS -> "padding a batch changes answers: " + detail;
      case NOT_APPLICABLE -> "batches are not padded: " + detail;
    };
  }
}
