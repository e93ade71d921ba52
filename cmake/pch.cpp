// cmake/pch.cpp -- an empty source: the target that makes the precompiled header needs one.
