//! The system calls that a program inside has no use for, refused by a seccomp filter.
//!
//! Two of them matter for the network. A socket may only be of the internet families: a unix socket that somebody left in the
//! workspace would be a way out that no network namespace closes. The same holds for a pair whose ends can send to any address,
//! connected or not. And the newer ways to do the same, `io_uring` and `clone3`, are
//! answered as if this kernel did not have them, because a filter cannot see what they are asked.

use std::collections::BTreeMap;

use libc::{AF_INET, AF_INET6, AF_UNIX, EAFNOSUPPORT, ENOSYS, EPERM, SOCK_DGRAM, SOCK_RAW};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// A filter that could not be made or put up.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// It could not be made.
    #[error("the filter of system calls cannot be made: {0}")]
    Make(#[from] BackendError),
    /// The kernel did not take it.
    #[error("the kernel did not take the filter of system calls: {0}")]
    Apply(#[from] seccompiler::Error),
}

/// Refuses these calls to this process and all it starts, for good. Nothing it starts can gain rights any more.
pub(crate) fn allow_calls(unix_sockets: bool) -> Result<(), CallsError> {
    for program in programs(unix_sockets)? {
        apply_filter(&program)?;
    }
    Ok(())
}

/// Whether this kernel takes filters. Asking filters the thread that asks, so one is begun for it.
pub(crate) fn can_filter() -> bool {
    let ask = || allow_calls(false).is_ok();
    std::thread::spawn(ask).join().unwrap_or(false)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn programs(unix_sockets: bool) -> Result<Vec<BpfProgram>, BackendError> {
    [
        (forbidden()?, EPERM),
        (all(&UNSEEN), ENOSYS),
        (families(unix_sockets)?, EAFNOSUPPORT),
    ]
    .into_iter()
    .map(|(rules, errno)| {
        let arch = std::env::consts::ARCH.try_into()?;
        let refused = SeccompAction::Errno(errno.unsigned_abs());
        // Calls of another architecture, such as 32-bit ones, end the process: they have other numbers.
        SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
    })
    .collect()
}

/// What a filter cannot look into.
const UNSEEN: [i64; 4] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// What changes namespaces, mounts, other processes, the kernel or the machine.
const FORBIDDEN: [i64; 52] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_vmsplice,
    libc::SYS_kexec_file_load,
    libc::SYS_quotactl_fd,
    OPEN_TREE_ATTR,
];

/// Newer than the constants that others have; new calls have the same number everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Typing into the terminal that the program was started from.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

fn forbidden() -> Result<Rules, BackendError> {
    let mut rules = all(&FORBIDDEN);
    let new_namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let flags = new_namespaces.map(|flag| u64::from(flag.unsigned_abs()));
    let asked = flags.map(|flag| when(0, SeccompCmpOp::MaskedEq(flag), flag));
    add(
        &mut rules,
        libc::SYS_clone,
        asked.into_iter().collect::<Result<_, _>>()?,
    );
    let typed = [TIOCSTI, TIOCLINUX].map(|code| when(1, SeccompCmpOp::Eq, code));
    add(
        &mut rules,
        libc::SYS_ioctl,
        typed.into_iter().collect::<Result<_, _>>()?,
    );
    Ok(rules)
}

fn families(unix_sockets: bool) -> Result<Rules, BackendError> {
    let mut allowed = vec![AF_INET, AF_INET6];
    if unix_sockets {
        allowed.push(AF_UNIX);
    }
    let others = allowed.into_iter().map(|family| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    let rule = SeccompRule::new(others.collect::<Result<_, _>>()?)?;
    let mut rules = Rules::new();
    add(&mut rules, libc::SYS_socket, vec![rule]);
    add(&mut rules, libc::SYS_socketpair, pairs(unix_sockets)?);
    Ok(rules)
}

/// The bits of a socket's type that are no flags.
const SOCKET_TYPE: u64 = 0xf;

/// Pairs that lead further than to their other end: those of another family, and those of datagram sockets, which send to
/// whatever address they are given. A raw unix socket is one of them.
fn pairs(unix_sockets: bool) -> Result<Vec<SeccompRule>, BackendError> {
    let mut refused = vec![when(0, SeccompCmpOp::Ne, u64::from(AF_UNIX.unsigned_abs()))?];
    if !unix_sockets {
        for sort in [SOCK_DGRAM, SOCK_RAW] {
            let sort = u64::from(sort.unsigned_abs());
            refused.push(when(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), sort)?);
        }
    }
    Ok(refused)
}

fn all(calls: &[i64]) -> Rules {
    let mut rules = Rules::new();
    for call in calls {
        // Without a condition a rule always holds.
        add(&mut rules, *call, Vec::new());
    }
    rules
}

/// The bit that marks a call of the x32 interface, which is the same architecture with other numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

fn add(rules: &mut Rules, call: i64, conditions: Vec<SeccompRule>) {
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(X32 | call, conditions.clone());
        let own_number = match call {
            libc::SYS_ptrace => Some(521),
            libc::SYS_kexec_load => Some(528),
            libc::SYS_vmsplice => Some(532),
            libc::SYS_move_pages => Some(533),
            libc::SYS_process_vm_readv => Some(539),
            libc::SYS_process_vm_writev => Some(540),
            libc::SYS_ioctl => Some(514),
            _ => None,
        };
        if let Some(number) = own_number {
            rules.insert(X32 | number, conditions.clone());
        }
    }
    rules.insert(call, conditions);
}

fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        op,
        value,
    )?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    /// What a thread can do behind the filter.
    fn behind<T: Send + 'static>(unix_sockets: bool, act: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::spawn(move || {
            allow_calls(unix_sockets).unwrap();
            act()
        });
        thread.join().unwrap()
    }

    #[test]
    fn only_internet_sockets_can_be_made() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("host.sock");
        let _host = UnixListener::bind(&path).unwrap();
        let (tcp, unix, pair) = behind(false, move || {
            let tcp = TcpListener::bind("127.0.0.1:0").is_ok();
            let unix = UnixStream::connect(path).map_err(|error| error.raw_os_error());
            (tcp, unix.err(), UnixStream::pair().is_ok())
        });
        assert!(tcp);
        assert_eq!(unix, Some(Some(EAFNOSUPPORT)));
        assert!(pair, "a stream leads to its other end alone");
    }

    #[test]
    fn no_pair_reaches_an_address() {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        let (none, flags) = (SocketFlags::empty(), SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
        for (sort, flags, is_made) in [
            (SocketType::STREAM, flags, true),
            (SocketType::SEQPACKET, none, true),
            (SocketType::DGRAM, none, false),
            (SocketType::DGRAM, flags, false),
            (SocketType::RAW, none, false),
        ] {
            let made = behind(false, move || socketpair(AddressFamily::UNIX, sort, flags, None));
            assert_eq!(made.is_ok(), is_made, "{sort:?}: {made:?}");
        }
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("host.sock");
        let _host = UnixDatagram::bind(&path).unwrap();
        let sent = behind(false, move || UnixDatagram::pair()?.0.send_to(b"out", path));
        assert!(sent.is_err());
        assert!(behind(true, || UnixDatagram::pair().is_ok()));
    }

    #[test]
    fn unix_sockets_can_be_had_by_whoever_asks() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("own.sock");
        assert!(behind(true, move || UnixListener::bind(path).is_ok()));
    }

    #[test]
    fn threads_and_programs_still_start() {
        let ran = behind(false, || {
            let thread = std::thread::spawn(|| 1).join().unwrap();
            let status = std::process::Command::new("/bin/true").status().unwrap();
            (thread, status.success())
        });
        assert_eq!(ran, (1, true));
    }

    #[test]
    fn new_namespaces_are_refused() {
        let made = behind(false, || {
            let status = std::process::Command::new("unshare")
                .args(["--user", "true"])
                .status();
            status.unwrap().success()
        });
        assert!(!made);
    }
}
