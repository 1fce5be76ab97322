package io.pipelane.server.access;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.function.LongSupplier;

/**
 * The allowances of tokens' holders. All tokens of one holder that allow the same have it together,
 * also when the keys change that they are signed with. Safe for any thread.
 */
final class TokenAllowances {
  /* One is kept for as long as somebody has it: a token that is remembered, or a request under way. */
  private final Cache<Share, Allowance> shared =
      Caffeine.newBuilder().weakValues().executor(Runnable::run).build();

  private final LongSupplier nanoClock;

  private record Share(String owner, Allowance.Limits limits) {}

  /**
   * Nobody has one yet.
   *
   * @param nanoClock that rates are measured by
   */
  TokenAllowances(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** The allowance that a holder has for a token's limits, with others that have the same. */
  Allowance of(TokenHolder holder, Allowance.Limits limits) {
    return shared.get(
        new Share(holder.owner(), limits), _ -> new Allowance(holder.name(), limits, nanoClock));
  }
}
